// A lane without threads: jobs run when the test says so, or at once.
#pragma once

#include <deque>

#include "loop/lane.h"

namespace memqos::loop {

class FakeLane final : public Lane {
 public:
  enum class Mode {
    held,       // jobs wait for runNext() and its like
    immediate,  // submit() runs the work; `done` still comes through the loop, as from a real lane
  };
  explicit FakeLane(Loop& loop, Mode mode = Mode::held, std::size_t capacity = 4096);
  ~FakeLane() override;
  FakeLane(const FakeLane&) = delete;
  FakeLane& operator=(const FakeLane&) = delete;

  // Each runs (or not) the oldest waiting job and posts its end to the loop. False: none waits.
  bool runNext() { return finishNext(Outcome::done); }
  bool runNextLate() { return finishNext(Outcome::late); }
  bool loseNext() { return finishNext(Outcome::lost); }  // the work does not run
  std::size_t runAll();                                  // also those that `work` submits; how many ran
  // The deadline of the oldest waiting job.
  [[nodiscard]] Duration nextDeadline() const { return jobs_.front().deadline; }

  bool submit(Duration deadline, std::function<void()> work, std::function<void(Outcome)> done) override;
  [[nodiscard]] LaneStats stats() const override;

 private:
  struct Job {
    Duration deadline;
    std::function<void()> work;
    std::function<void(Outcome)> done;
  };
  bool finishNext(Outcome outcome);
  void finish(Job job, Outcome outcome);

  Loop& loop_;
  Mode mode_;
  std::size_t capacity_;
  std::deque<Job> jobs_;
  LaneStats stats_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::loop
