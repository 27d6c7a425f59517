// Standalone mode: which cgroups a pod's own keys name. Only looks whether they exist; watches and holds nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/cgroup.h"

namespace memqos::cgroup {

struct PathKey {
  std::string key;    // as written, for problems
  std::string value;  // the path, as written
  bool operator==(const PathKey&) const = default;
};

struct PodKeys {
  std::optional<PathKey> pod;
  std::map<std::string, PathKey> containers;  // by container name
  std::vector<std::string> names;             // the spec's containers, in its order
  bool operator==(const PodKeys&) const = default;
};

struct PathProblem {
  std::string container;  // empty: the pod's key
  std::string key;
  std::string value;
  std::string problem;  // a sentence
  std::string advice;
};

struct Resolved {
  std::string pod;                                // path of the pod's cgroup, whether it exists or not; empty: none
  bool podSlice = false;                          // `pod` stands above its containers, so it is held for them
  std::map<std::string, std::string> containers;  // name -> path, those that exist
  std::map<std::string, std::string> waiting;     // likewise, those that do not exist yet
  std::vector<PathProblem> problems;              // the key counts as absent
};

// `cgroupRoot` is below the mount, "" is the mount's root; every path must be strictly below it. To be called again
// when a child of a cgroup on the way is created or removed: a single container moves from its pod's cgroup to a child
// of its name once there is one.
Resolved resolve(const Root& root, std::string_view cgroupRoot, const PodKeys& keys);

// The nearest cgroup on the way to `path` that exists, `path` itself included; "" is the root. Its `created` event is
// what to wait for.
std::string nearestExisting(const Root& root, std::string_view path);

}  // namespace memqos::cgroup
