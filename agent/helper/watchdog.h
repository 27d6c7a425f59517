// `memqos-helper watchdog`: outlives the agent and puts back what must not stay without it.
#pragma once

namespace memqos::helper {

struct WatchdogOptions {
  int socket = -1;     // to the agent; its end of file is the agent's death
  int lock = -1;       // the agent's lock, held until everything is put back: the next agent waits for that
  int rootProcs = -1;  // cgroup.procs of the root cgroup, open for writing; -1: stay where we are
};

// Returns the exit status: 0 once everything is put back, 1 if the socket is unusable from the start.
int runWatchdog(const WatchdogOptions& options);

}  // namespace memqos::helper
