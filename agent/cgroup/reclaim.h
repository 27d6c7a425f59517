// memory.reclaim as a job: stateless, blocking, for a lane.
#pragma once

#include <chrono>

#include "base/units.h"
#include "cgroup/cgroup.h"

namespace memqos::cgroup {

// Which pages are asked for: as the kernel likes, page cache only ("swappiness=0", 6.11 on; EINVAL before), or
// anonymous memory only ("swappiness=max", 6.16 on; up to 7.2 it takes page cache where there is no swap).
// "swappiness=200" means neither: the kernel may still take page cache alone (mm/vmscan.c, prepare_scan_control()).
enum class ReclaimKind { any, file, anon };

struct ReclaimResult {
  Bytes got;            // how much memory.current went down, at least 0; the write's own result says less
  Bytes before, after;  // memory.current around the write
  int sysErrno = 0;     // EAGAIN: the asked amount was not reached, which is no failure
  std::chrono::nanoseconds wall{0}, cpu{0};  // of the write, on this thread
};

// Asks the kernel to reclaim `amount` from the cgroup and its descendants (memory.reclaim, 5.19 on). The target's own
// protection is ignored by the kernel: the caller keeps its floors. Never call it on a cgroup that is not populated:
// the write holds up the removal, and with it every other cgroup operation on the node.
ReclaimResult reclaim(const Cgroup& cgroup, Bytes amount, ReclaimKind kind = ReclaimKind::any);

}  // namespace memqos::cgroup
