#include "loop/fake_lane.h"

#include <utility>

namespace memqos::loop {

FakeLane::FakeLane(Loop& loop, Mode mode, std::size_t capacity) : loop_(loop), mode_(mode), capacity_(capacity) {}
FakeLane::~FakeLane() {
  *alive_ = false;
}

bool FakeLane::submit(Duration deadline, std::function<void()> work, std::function<void(Outcome)> done) {
  if (jobs_.size() >= capacity_) {
    ++stats_.dropped;
    return false;
  }
  Job job{deadline, std::move(work), std::move(done)};
  if (mode_ == Mode::immediate) {
    finish(std::move(job), Outcome::done);
  } else {
    jobs_.push_back(std::move(job));
  }
  return true;
}

bool FakeLane::finishNext(Outcome outcome) {
  if (jobs_.empty()) return false;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  finish(std::move(job), outcome);
  return true;
}

void FakeLane::finish(Job job, Outcome outcome) {
  if (outcome != Outcome::lost) job.work();
  ++(outcome == Outcome::done ? stats_.done : stats_.timedOut);
  if (outcome == Outcome::lost) ++stats_.lostThreads;
  loop_.post([alive = alive_, done = std::move(job.done), outcome] {
    if (*alive) done(outcome);
  });
}

std::size_t FakeLane::runAll() {
  std::size_t count = 0;
  while (runNext()) ++count;
  return count;
}

LaneStats FakeLane::stats() const {
  LaneStats stats = stats_;
  stats.queued = jobs_.size();
  return stats;
}

}  // namespace memqos::loop
