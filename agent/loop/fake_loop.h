// A loop without threads or descriptors: time moves when the test says so.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "loop/loop.h"

namespace memqos::loop {

class FakeLoop final : public Loop {
 public:
  // Starts well after zero, so that tests may look back in time.
  explicit FakeLoop(TimePoint start = TimePoint(std::chrono::hours(1000)));
  ~FakeLoop() override;
  FakeLoop(const FakeLoop&) = delete;
  FakeLoop& operator=(const FakeLoop&) = delete;

  // Moves time on, and runs posts and due timers in the order of their times (of setting, where times are equal).
  void advance(Duration duration);
  // Runs what was posted, and what that posts.
  void settle();
  // What epoll would report. False: nobody watches `fd` for any of these (EPOLLERR and EPOLLHUP come always).
  bool trigger(int fd, std::uint32_t events);
  // False: nobody waits for this signal.
  bool raise(int signal);
  // The events `fd` is watched for, 0 if it is not watched.
  [[nodiscard]] std::uint32_t watched(int fd) const;
  // The time of the next timer; nullopt if there is none.
  [[nodiscard]] std::optional<TimePoint> nextTimer() const;
  [[nodiscard]] std::size_t timers() const;

  [[nodiscard]] TimePoint now() const override { return now_; }
  Handle at(TimePoint when, std::function<void()> callback) override;
  Handle every(Duration period, std::function<void()> callback) override;
  Result<Handle> watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) override;
  Result<Handle> onSignal(int signal, std::function<void()> callback) override;
  void post(std::function<void()> callback) override;
  // Advances from timer to timer until stop(), or until nothing is left to run (then -1).
  int run() override;
  void stop(int status) override { stopped_ = status; }

 private:
  struct State;
  Handle add(TimePoint when, Duration period, std::function<void()> callback);
  bool runNextTimer(TimePoint latest);

  TimePoint now_;
  std::shared_ptr<State> state_;  // shared with the handles, which may outlive the loop
  std::mutex mutex_;
  std::vector<std::function<void()>> posts_;
  std::optional<int> stopped_;
};

}  // namespace memqos::loop
