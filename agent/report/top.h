// The rows of `top`: what the containers of managed pods use now.
#pragma once

#include <string>

#include "document/node.h"
#include "report/snapshot.h"

namespace memqos::report {

// {"containers": [{namespace, pod, container, usage, min, low, high, pressureSomeSeconds, throttleEscapes}]}, by name.
// usage in bytes; min, low and high are what the kernel has, bytes or "max"; pressureSomeSeconds is the total since the
// cgroup was made. null where it is not known (yet).
document::Node topBody(const Snapshot& snapshot);
std::string topText(const document::Node& body);

}  // namespace memqos::report
