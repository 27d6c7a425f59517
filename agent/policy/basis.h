// What percentages are taken of, and what caps are measured against.
#pragma once

#include <vector>

#include "base/units.h"
#include "policy/plan.h"
#include "policy/pod.h"

namespace memqos::policy {

struct Basis {
  // The smallest memory.max in the kernel from the container up to its pod; before it runs, the smaller of the
  // container's and the pod's limit; where there is none, the node's allocatable; max where that is not known either.
  Limit limit = Limit::max();
  bool limitIsNode = false;
  // The allocated request, else the spec's. Containers without one share the pod-level request, less their siblings'
  // requests, equally. An init container runs before the others and shares with sidecars only; an ephemeral container
  // takes no share, so that debugging a pod changes nothing for the rest of it. 0: none.
  Bytes request;
};

// One for each container of the pod, in its order.
std::vector<Basis> basesOf(const Pod& pod, const PodFacts& facts, const NodeFacts& node);

// The limit of the whole pod: memory.max of its cgroup, else of the spec, else the node's allocatable, else max.
Limit podLimitOf(const Pod& pod, const PodFacts& facts, const NodeFacts& node);

// The most protection that fits under a limit with room for clean cache to be reclaimed: limit - max(32 MiB, 10 %), at
// least 0. A cgroup with memory.min at its memory.max can only be killed (kubernetes#126485).
Limit mostMin(Limit limit);

}  // namespace memqos::policy
