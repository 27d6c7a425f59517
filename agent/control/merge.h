// Pure: the Plan of every pod and the state of the tree -> the targets of every file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/protection.h"
#include "control/target.h"
#include "policy/plan.h"

namespace memqos::control {

struct MergeContainer {
  policy::ContainerPlan plan;
  cgroup::Handle cgroup;  // null: not there now
};

struct MergePod {
  cgroup::Handle cgroup;  // the pod slice to hold; null: none, or not there
  bool inKubepods = false;
  std::vector<MergeContainer> containers;
  Limit limit = Limit::max();  // memory.max of the pod
  bool valveOpen = false;      // its held lows are let go
  bool sandboxed = false;      // all files are of the pod's cgroup, for the containers together
};

struct MergeAncestor {
  cgroup::Handle cgroup;
  Protection baseline;
  Protection outside;  // children that memqos does not hold and that are no pods
};

struct MergeInput {
  std::vector<MergePod> pods;
  std::vector<MergeAncestor> ancestors;
  bool holdAncestors = true;  // qosSlices: manage
  bool holdLow = false;       // lowOnMglru: hold, on a kernel where memory.low alone protects nothing
  Bytes allocatable;
  Percent shareMin;
  Percent shareLow;
};

// With holdLow a wanted memory.low is held as memory.min too: on the container (never so high that its clean cache
// could not be reclaimed at its limit), the pod slice and the ancestors (within shareMin). Such targets are `held`. A
// container that is not there counts in its pod's sum while it is between restarts; an init container does not, since
// it has finished or not begun.
std::vector<Target> merge(const MergeInput& input);

// The knob behind a file of a container.
policy::Knob knobOf(cgroup::File file);

}  // namespace memqos::control
