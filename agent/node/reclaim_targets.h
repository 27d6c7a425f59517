// Pure: what background reclaim is to do for the pods of this node, and why it cannot where it cannot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/survey.h"
#include "policy/plan.h"
#include "reclaim/samples.h"

namespace memqos::node {

struct ReclaimInput {
  const std::vector<policy::PodPlan>& plans;
  const Survey& survey;
  Bytes allocatable{};
  bool floorAtRequest = false;
  std::string off{};  // why nothing is reclaimed on this node; empty: it is
};

// A container that reclaim works on, or would.
struct ReclaimTarget {
  std::string uid, container;
  cgroup::Handle cgroup, pod;  // pod: null where there is none
  reclaim::Wanted wanted;
  bool off = false;  // on this node nothing is reclaimed
  std::string why;   // why its reclaim knob does nothing; empty: it does
};

struct ReclaimTargets {
  std::vector<ReclaimTarget> containers;  // all that ask, also those with a `why`
  std::vector<reclaim::WantedPod> pods;
  std::map<cgroup::Id, cgroup::Handle> podCgroups;
};

// Only containers that have a cgroup. None: nothing is read.
ReclaimTargets reclaimTargets(const ReclaimInput& input);

// Does the plan ask for background reclaim or a page-cache limit?
bool asksForReclaim(const policy::ContainerPlan& container);

}  // namespace memqos::node
