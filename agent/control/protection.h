// Pure: what pod slices and their ancestors must hold so that protection is real, and what then takes effect.
// The kernel caps a cgroup's protection by that of every ancestor (Documentation/admin-guide/cgroup-v2.rst,
// memory.min).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/units.h"

namespace memqos::control {

// memory.min and memory.low of one cgroup.
struct Protection {
  Bytes min;
  Bytes low;
  bool operator==(const Protection&) const = default;
};

// One pod as far as protection goes. Paths are below the cgroup root.
struct ProtectedPod {
  std::string path;                              // the pod slice to hold; empty: the containers stand alone
  std::map<std::string, Protection> containers;  // by path; those between restarts count too
  std::map<std::string, Protection> waiting;     // by name: wanted, but without a cgroup just now
};

// A cgroup above the pods.
struct Ancestor {
  std::string path;
  Protection baseline;  // what somebody else (the kubelet) last wrote there
  Protection outside;   // sum of its children that memqos does not hold and that are no pods
};

struct ProtectionInput {
  std::vector<ProtectedPod> pods;
  std::vector<Ancestor> ancestors;  // all cgroups between the pods and the root of the pods
  Bytes allocatable;
  Percent shareMin;  // guardrail: the most an ancestor gets because of memqos, as a share of allocatable
  Percent shareLow;
};

// Path -> value to hold, for pod slices and, of the ancestors, those that have protected pods below them. An ancestor
// holds max(baseline, min(sum of its children, share x allocatable)); a pod slice the sum of its containers.
std::map<std::string, Protection> holdProtection(const ProtectionInput& input);

// What is in the kernel now (path -> value), for every cgroup that memqos holds or observes.
struct EffectiveInput {
  std::map<std::string, Protection> settings;   // managed containers, pod slices, ancestors
  std::map<std::string, Protection> baselines;  // of the ancestors: the kubelet's value, for its unmanaged pods
};

struct Effective {
  Protection value;
  std::string limitingMin;  // the ancestor that cuts memory.min to less than the setting; empty: none does
  std::string limitingLow;
};

// own x min(1, parent's effective / sum of all children's settings), from the top down; unmanaged children count as
// max(0, baseline of the parent - managed sum). Cgroups without an ancestor in `settings` are not cut.
std::map<std::string, Effective> effectiveProtection(const EffectiveInput& input);

}  // namespace memqos::control
