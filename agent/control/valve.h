// Pure: when a memory.low that is held as memory.min must be let go, so that it stays as soft as low is meant to be.
// Where the multi-generational LRU is on, the kernel spares a cgroup below its memory.low only once (mm/vmscan.c,
// shrink_one): a low is held as memory.min too, and this valve gives it back its softness.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "loop/loop.h"

namespace memqos::control {

// Opened by a reason, closed again after a time without any.
class Valve {
 public:
  static constexpr auto kCalm = std::chrono::seconds(30);
  // True if that opened it: it was closed.
  bool trip(loop::TimePoint now);
  // True if time closed it: it was open.
  bool settle(loop::TimePoint now);
  [[nodiscard]] bool open() const { return tripped_.has_value(); }
  [[nodiscard]] std::optional<loop::TimePoint> closesAt() const;

 private:
  std::optional<loop::TimePoint> tripped_;  // the last time
};

// What says that the node is short of memory.
struct NodePressure {
  std::optional<std::chrono::microseconds> full;  // /proc/pressure/memory, total of `full`; none without PSI
  std::int64_t oomKills = 0;                      // /proc/vmstat: oom_kill
  Bytes available;                                // /proc/meminfo: MemAvailable
  Bytes total;                                    // MemTotal
  // Memory in use that is held although it is only low: MemAvailable counts it, but the kernel will not take it.
  Bytes held;
  [[nodiscard]] Bytes within() const { return available - held; }
};

// Why a valve opens between two looks at the node; nullopt: it need not. `full` stall of more than 10 % of the time
// over at least a second, an OOM kill, or MemAvailable under 2 % of MemTotal.
class NodeStrain {
 public:
  std::optional<std::string> look(loop::TimePoint now, const NodePressure& pressure);

 private:
  static constexpr auto kWindow = std::chrono::seconds(1);
  std::optional<NodePressure> last_;
  std::optional<NodePressure> windowStart_;
  loop::TimePoint windowStartAt_{};
};

}  // namespace memqos::control
