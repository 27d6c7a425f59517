// The rows of `probe`: what this node can do.
#pragma once

#include <string>
#include <vector>

#include "cgroup/features.h"
#include "cgroup/layout.h"
#include "document/node.h"

namespace memqos::report {

struct Probe {
  std::string kernel;     // uname -r
  int cgroupVersion = 2;  // 1 or 2
  cgroup::Driver driver = cgroup::Driver::none;
  std::string root;  // where the hierarchy is mounted
  std::vector<cgroup::Feature> features;
};

// {"kernel", "cgroup": {"version", "driver", "root"}, "features": [{"name", "available", "known", "evidence",
// "neededBy": []}]}; known is false for what could not be tried.
document::Node probeBody(const Probe& probe);
std::string probeText(const document::Node& body);

}  // namespace memqos::report
