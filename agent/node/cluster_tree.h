// In a cluster: where in the tree a pod and its containers are. The tree's names are claims; the API server's pods and
// the runtime's bundles decide (cgroup/match.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/match.h"

namespace memqos::node {

// Every pod of the node, since whose a cgroup is depends on all of them.
struct ClusterView {
  std::vector<cgroup::PodIdentity> pods;
  // Of a container id; nullopt: no readable bundle. Blocking.
  std::function<std::optional<cgroup::BundleNames>(std::string_view)> bundle;
};

// Bundles never change, and reading one costs a parse.
class BundleCache {
 public:
  std::optional<cgroup::BundleNames> find(const std::string& containerId, const ClusterView& view);

 private:
  std::map<std::string, cgroup::BundleNames, std::less<>> known_;
};

struct ClusterPlace {
  std::string pod;                                // path of the pod's cgroup; empty: not there, or whose it is is open
  std::map<std::string, std::string> containers;  // name -> path
  std::vector<std::string> folders;               // cgroups of which a child may be a container of it
};

class ClusterTree {
 public:
  // Looks at the cgroups above the pods, and at none of a pod. Keeps references.
  ClusterTree(const cgroup::Root& root, const std::string& cgroupRoot, const ClusterView& view, BundleCache& bundles);
  // Looks at the cgroups that claim to be of pods[index].
  [[nodiscard]] ClusterPlace find(std::size_t index);
  // Where a pod's cgroup, or the root of the pods, will appear.
  [[nodiscard]] const std::vector<std::string>& above() const { return above_; }

 private:
  void walk(const std::string& path);
  void lookBelow(const std::string& path, std::size_t index, ClusterPlace& out);

  const cgroup::Root& root_;
  const ClusterView& view_;
  BundleCache& bundles_;
  cgroup::PodMatcher matcher_;
  std::vector<std::string> above_;
  std::multimap<std::string, std::string, std::less<>> pods_;  // UID in the tree -> path
};

}  // namespace memqos::node
