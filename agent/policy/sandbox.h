// Pods of a RuntimeClass whose host cgroup holds a virtual machine or another kernel (Kata Containers, gVisor): the
// host sees no containers and no page cache of theirs, so the pod's cgroup gets what they would get together.
#pragma once

#include <span>
#include <string>

#include "policy/plan.h"

namespace memqos::policy {

// Settings::sandboxedRuntimeClasses names the pod's RuntimeClass; an entry that ends in '*' stands for all names that
// begin so.
bool runsInSandbox(const Pod& pod, const Settings& settings);

// Takes the engine knobs out of such a container's plan, each that was asked with its reason.
void dropEngines(const Pod& pod, ContainerPlan& plan);

// The value of the pod's cgroup: the sum of a quantity over the containers that stay (no finished init containers). A
// bound that one of them does not have is none: nullopt. Flags: true if any asks for it, of zswap-writeback false if
// any asks for that. Nothing asked: nullopt.
std::optional<Limit> sandboxValue(std::span<const ContainerPlan* const> containers, Knob knob);

}  // namespace memqos::policy
