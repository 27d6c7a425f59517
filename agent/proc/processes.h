// Which processes run on the node.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace memqos::proc {

// The id of a process whose name is `name` (/proc/PID/comm, of which the kernel keeps 15 bytes), in the pid namespace
// of process 1; nullopt: there is none. A process of an ordinary container has a namespace of its own and may call
// itself anything, so it does not count; where the namespaces cannot be read, the name alone decides. Processes that
// end meanwhile are left out. Errors: of reading the folder `procRoot`.
Result<std::optional<int>> findHostProcess(std::string_view name, const std::string& procRoot = "/proc");

}  // namespace memqos::proc
