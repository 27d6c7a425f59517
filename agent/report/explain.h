// The rows of `explain`: every knob of a pod, where its value comes from, and whether it holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/node.h"
#include "policy/plan.h"
#include "report/snapshot.h"

namespace memqos::report {

// A pod on this node: per knob asked, wanted, origin, file, current, effective, takesEffect (null where nothing is
// wanted), why; plus the pod's findings as `check` shows them. `suspended`: a restore came before, so nothing is
// written.
document::Node explainPod(const PodState& pod, bool suspended = false);
// A pod of a file: no node, so no uid, cgroup, current, effective, takesEffect.
document::Node explainPod(const policy::PodPlan& plan);

// {"pods": [...]}
document::Node explainBody(std::vector<document::Node> pods);
// The body for one pod of a running agent, named "NAMESPACE/NAME"; nullopt if it does not know it.
std::optional<document::Node> explainBody(const Snapshot& snapshot, std::string_view pod);

// For people. Only the knobs that somebody asks for or whose file differs from the kernel's default; with `all` every
// knob.
std::string explainText(const document::Node& body, bool all);

}  // namespace memqos::report
