#include "control/drift.h"

#include <algorithm>

namespace memqos::control {

loop::TimePoint RepairPace::repairAt(loop::TimePoint now) {
  if (last_ && now - *last_ >= kQuiet) {
    recent_.clear();
    wait_ = {};
  }
  last_ = now;
  while (!recent_.empty() && now - recent_.front() >= kWindow) recent_.pop_front();
  if (recent_.size() >= kFree || wait_.count() > 0) {
    wait_ = wait_.count() == 0 ? kFirstWait : std::min(wait_ * 2, kLongestWait);
  }
  const loop::TimePoint at = now + wait_;
  recent_.push_back(at);
  return at;
}

}  // namespace memqos::control
