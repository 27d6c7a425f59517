// Which cgroup hierarchy carries the memory controller, and who laid out the pods in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cgroup/cgroup.h"
#include "cgroup/layout.h"
#include "proc/mountinfo.h"

namespace memqos::cgroup {

struct Hierarchy {
  int version = 2;   // 1 or 2: the one that has the memory controller
  std::string root;  // mount point of v2, or of v1's memory controller
  Driver driver = Driver::none;
  std::string kubepods;                  // path of the root of the pods below `root`; empty if there is none
  bool hybrid = false;                   // controllers of both versions are mounted
  std::vector<std::string> controllers;  // of `root`, sorted
  bool recursiveProt = false;            // mount option memory_recursiveprot
  std::string note;                      // for people: what was odd, e.g. libcgroup's other opinion
};

// libcgroup's answer: the mount point of the memory controller.
struct LibcgroupAnswer {
  bool usable = false;
  std::string memoryMount;
  std::string problem;  // why it is not usable
};
// Asks the library once per process, its messages switched off. Call while single-threaded.
const LibcgroupAnswer& askLibcgroup();

struct DiscoverOptions {
  std::string procRoot = "/proc";
  std::function<bool(const proc::Mount&)> reachable = proc::isReachable;
  std::function<LibcgroupAnswer()> libcgroup = askLibcgroup;  // empty: do without
};

// Reads the mounts, asks libcgroup, and looks into the tree. Where the two disagree our own reading is used and the
// note says so. Errors: unsupported (no memory controller, or only a container's own part of the tree is mounted; the
// sentence says what to do), gone and denied of the mounts' file.
Result<Hierarchy> discover(const DiscoverOptions& options = {});

// The path of the root of the kubelet's pods; several (one left behind by another driver): the populated one. "": none,
// no kubelet has begun here.
std::string findKubepods(const Root& root);

// Can memqos program it? Errors: unsupported (the memory controller is on cgroup v1), with what to do.
Status requireProgrammable(const Hierarchy& hierarchy);

}  // namespace memqos::cgroup
