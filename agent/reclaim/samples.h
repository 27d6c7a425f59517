// What the engine is told of the world.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "cgroup/cgroup.h"
#include "cgroup/stat.h"
#include "loop/loop.h"

namespace memqos::reclaim {

using loop::Duration;
using loop::TimePoint;

// off: only a page-cache limit, if there is one. automatic: watermarks, slowed by pressure and refaults.
enum class How { off, watermark, pressure, automatic };

// What is wanted of one container.
struct Wanted {
  cgroup::Id id = 0;
  std::optional<cgroup::Id> pod{};  // its pod's cgroup, where that has a limit to watch
  How how = How::off;
  std::optional<Bytes> limit{};          // smallest memory.max up to the pod, or memory.high; nullopt: none
  std::optional<Bytes> start{}, stop{};  // fixed marks
  std::optional<Bytes> cacheLimit{};
  Bytes floor{};  // memory.min, memory.low, and the request where it counts: the kernel does not protect the target of
                  // memory.reclaim, so the agent does
  bool operator==(const Wanted&) const = default;
};

// The cgroup of a pod whose own limit its containers can hit together.
struct WantedPod {
  cgroup::Id id = 0;
  Bytes limit;
  bool operator==(const WantedPod&) const = default;
};

// memory.current of a container or a pod.
struct Usage {
  cgroup::Id id = 0;
  std::optional<Bytes> bytes;  // nullopt: gone
};

// One slow look at a container.
struct Stat {
  cgroup::Id id = 0;
  TimePoint at{};
  bool gone = false;
  Bytes usage;  // memory.current, just before
  cgroup::MemoryStat memory;
  cgroup::MemoryEvents events;
  std::optional<cgroup::Pressure> memoryPressure, ioPressure;
  Bytes swapUsed;  // memory.swap.current
  Limit swapRoom;  // the least of memory.swap.max - memory.swap.current up to the pod
};

// The node's swap.
struct NodeStat {
  Bytes swapTotal, swapFree;
  bool zramOnly = true;  // no swap device but zram: what is swapped stays in memory
};

// What the kernel can do, and how far off memory.stat may be.
struct Abilities {
  bool swappiness = false;     // memory.reclaim takes swappiness=0
  bool swappinessMax = false;  // and swappiness=max
  Bytes staleness;             // 64 pages for each CPU (mm/memcontrol.c, MEMCG_CHARGE_BATCH)
  unsigned workers = 2;        // rounds at a time
  bool generations = true;     // the multi-generational LRU is in use
  Bytes readAhead{};           // what a stream may have in the page cache before it uses it
};

}  // namespace memqos::reclaim
