// The other half of the crash contract: a process that outlives the agent and puts temporary values and memory.high
// back.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "cgroup/cgroup.h"
#include "cgroup/files.h"
#include "loop/loop.h"

namespace memqos::control {

// Called on the control lane; blocking, with a deadline.
class Watchdog {
 public:
  virtual ~Watchdog() = default;
  // Before a write: when the agent is gone (or at `undoAt`, CLOCK_MONOTONIC), put `restore` back if the file holds
  // `ours` or the value held before. Acknowledged on return. Errors: unsupported (no watchdog), gone, timeout, io.
  virtual Status hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore,
                      std::optional<loop::TimePoint> undoAt) = 0;
  Status hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore) {
    return hold(cgroup, file, ours, restore, std::nullopt);
  }
  // The file is at its baseline again, or somebody else's.
  virtual void release(const cgroup::Cgroup& cgroup, cgroup::File file) = 0;
  // False: memory.high and temporary overrides are off.
  [[nodiscard]] virtual bool available() const = 0;
};

}  // namespace memqos::control
