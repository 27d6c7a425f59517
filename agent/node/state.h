// Pure: what is known -> what people are shown.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "control/controller.h"
#include "control/protection.h"
#include "node/sample.h"
#include "node/survey.h"
#include "policy/plan.h"
#include "report/snapshot.h"

namespace memqos::node {

struct StateInput {
  const std::map<control::Key, control::FileEntry>& files;  // of the controller
  const Survey& survey;
  const std::map<cgroup::Id, Sample>& samples;
  bool programmable = true;  // false: the memory controller is on cgroup v1
  bool qosSlicesManaged = true;
  bool lowNeedsHold = false;  // this kernel spares memory.low only once
  // What background reclaim does for a container; may be empty.
  std::function<std::optional<report::ReclaimState>(cgroup::Id)> reclaim{};
  std::map<std::string, bool> lowValves{};  // UID of a pod whose low is held -> whether it is let go now
};

// Path -> protection that takes effect, over all that is managed or stands above it.
std::map<std::string, control::Effective> effectiveOf(const StateInput& input);

// One pod's state. `effective` is effectiveOf() of the same input.
report::PodState podState(const policy::PodPlan& plan, const StateInput& input,
                          const std::map<std::string, control::Effective>& effective);

}  // namespace memqos::node
