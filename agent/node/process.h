// What must happen to the process before its first thread.
#pragma once

#include <string>

#include "base/error.h"

namespace memqos::node {

// Blocks the signals that the loop takes, raises RLIMIT_NOFILE to its hard limit, bounds malloc's arenas.
void prepareProcess();

// A container has a cgroup namespace of its own, out of which nobody can be moved (nsdelegate): joins that of
// process 1. Does nothing where it is the same one. Needs hostPID, CAP_SYS_ADMIN and CAP_SYS_PTRACE. While
// single-threaded. Errors: denied, io.
Status joinHostCgroupNamespace(const std::string& procRoot = "/proc");

// Whether the tree at `mount` is the host's: by inode against process 1's view of the same path. Errors: invalid (it is
// another; the sentence says what to bind). Where process 1 cannot be looked at nothing is known, which is no error.
Status requireHostTree(const std::string& mount, const std::string& procRoot = "/proc");

}  // namespace memqos::node
