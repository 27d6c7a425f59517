// The feature table: what a node can do, found by trying, never by version.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/discovery.h"

namespace memqos::cgroup {

struct ProbeContext;
// What trying showed. `known` false: it could not be tried (yet), which is not the same as absent.
struct Verdict {
  bool available = false;
  std::string evidence;
  bool known = true;
};

// Whether PSI works, from what reading a cgroup's memory.pressure gave; `cgroup` is for the evidence.
Verdict pressureVerdict(std::string_view cgroup, const Result<std::string>& text);

struct FeatureInfo {
  std::string_view name;                       // the file where it is one: "memory.reclaim", else "psi", "mglru", ...
  std::string_view summary;                    // for docs
  std::span<const std::string_view> neededBy;  // knob names (annotation spelling)
  Verdict (*tryIt)(const ProbeContext&);
};
std::span<const FeatureInfo> featureTable();

// One row of `probe`.
struct Feature {
  std::string name;
  bool available = false;
  std::string evidence;               // the file, value or errno that decided
  std::vector<std::string> neededBy;  // knob names
  bool known = true;                  // false: not tried yet, e.g. there is no cgroup below the root to look at
};

struct ProbeOptions {
  std::string procRoot = "/proc";
  std::string sysRoot = "/sys";
};

// Every feature of the table, in its order. Tries on cgroups that are there and are no pod's; creates none. What is
// written has no effect: `0` to memory.reclaim. Never fails as a whole.
std::vector<Feature> probe(const Root& root, const Hierarchy& hierarchy, const ProbeOptions& options = {});

// False also for a name that is not in the list.
bool has(const std::vector<Feature>& features, std::string_view name);
// Tried and not there. False for what could not be tried: then the file itself says it, when it is used.
bool lacks(const std::vector<Feature>& features, std::string_view name);

}  // namespace memqos::cgroup
