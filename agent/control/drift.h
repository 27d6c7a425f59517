// Pure: how soon a foreign write is repaired. At once, unless somebody insists: then less and less often, so that two
// agents that fight do not burn the node.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "loop/loop.h"

namespace memqos::control {

class RepairPace {
 public:
  // A foreign write was seen at `now`: when to repair it. After 5 repairs in 60 s wait 1 s, doubling to 60 s; all of it
  // is forgotten after 10 quiet minutes.
  loop::TimePoint repairAt(loop::TimePoint now);

 private:
  static constexpr auto kWindow = std::chrono::seconds(60);
  static constexpr std::size_t kFree = 5;
  static constexpr auto kQuiet = std::chrono::minutes(10);
  static constexpr loop::Duration kFirstWait = std::chrono::seconds(1);
  static constexpr loop::Duration kLongestWait = std::chrono::seconds(60);

  std::deque<loop::TimePoint> recent_;
  std::optional<loop::TimePoint> last_;
  loop::Duration wait_{0};
};

}  // namespace memqos::control
