#include "node/cluster_tree.h"

#include <algorithm>
#include <utility>

#include "cgroup/discovery.h"
#include "cgroup/layout.h"

namespace memqos::node {
namespace {

constexpr std::size_t kMostBundles = 4096;

std::string join(const std::string& parent, const std::string& child) {
  return parent.empty() ? child : parent + "/" + child;
}

}  // namespace

std::optional<cgroup::BundleNames> BundleCache::find(const std::string& containerId, const ClusterView& view) {
  if (const auto known = known_.find(containerId); known != known_.end()) return known->second;
  if (!view.bundle) return std::nullopt;
  auto names = view.bundle(containerId);
  if (known_.size() >= kMostBundles) known_.clear();
  if (names) known_[containerId] = *names;
  return names;
}

ClusterTree::ClusterTree(const cgroup::Root& root, const std::string& cgroupRoot, const ClusterView& view,
                         BundleCache& bundles)
    : root_(root), view_(view), bundles_(bundles), matcher_(view.pods) {
  const std::string kubepods = cgroup::findKubepods(root);
  if (kubepods.empty()) {
    above_.emplace_back(cgroupRoot);
    return;
  }
  for (const std::string& path : cgroup::ancestorsOf(kubepods)) above_.push_back(path);
  above_.emplace_back("");
  if (cgroupRoot.empty() || kubepods == cgroupRoot || cgroup::isBelow(kubepods, cgroupRoot)) walk(kubepods);
}

void ClusterTree::walk(const std::string& path) {
  above_.push_back(path);
  const auto cgroup = root_.find(path);
  if (!cgroup) return;
  const auto children = (*cgroup)->children();
  if (!children) return;
  for (const std::string& name : *children) {
    const std::string child = join(path, name);
    if (const auto pod = cgroup::parsePodPath(child)) {
      if (pod->container.empty()) pods_.emplace(pod->uid, child);
    } else if (cgroup::isAbovePods(child)) {
      walk(child);
    }
  }
}

ClusterPlace ClusterTree::find(std::size_t index) {
  const cgroup::PodIdentity& pod = view_.pods[index];
  ClusterPlace out;
  for (const std::string* uid : {&pod.uid, &pod.configHash}) {
    if (uid->empty()) continue;
    const auto [begin, end] = pods_.equal_range(*uid);
    for (auto claim = begin; claim != end; ++claim) {
      out.folders.push_back(claim->second);
      if (matcher_.podOf(*uid) == index) out.pod = claim->second;
      lookBelow(claim->second, index, out);
    }
  }
  return out;
}

void ClusterTree::lookBelow(const std::string& path, std::size_t index, ClusterPlace& out) {
  const auto folder = root_.find(path);
  if (!folder) return;
  const auto children = (*folder)->children();
  if (!children) return;
  std::map<std::string, cgroup::Id> newest;
  for (const std::string& name : *children) {
    const std::string child = join(path, name);
    const auto place = cgroup::parsePodPath(child);
    if (!place || place->container.empty()) continue;
    const auto match = matcher_.match(*place, bundles_.find(place->containerId, view_));
    if (!match || match->pod != index || match->container.empty()) continue;
    const auto cgroup = root_.find(child);
    if (!cgroup) continue;
    // While a container is being replaced its old cgroup may still be there.
    cgroup::Id& id = newest[match->container];
    if ((*cgroup)->id() < id) continue;
    id = (*cgroup)->id();
    out.containers[match->container] = child;
  }
}

}  // namespace memqos::node
