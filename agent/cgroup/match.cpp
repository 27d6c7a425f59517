#include "cgroup/match.h"

namespace memqos::cgroup {
namespace {

// The kubelet writes the hash into both annotations of the mirror pod that it makes (pkg/kubelet/pod/mirror_client.go).
bool isMirror(const PodIdentity& pod) {
  return !pod.configHash.empty() && pod.configMirror == pod.configHash;
}

// "containerd://0f3a..." -> "0f3a..."
std::string_view bareId(std::string_view id) {
  const std::size_t scheme = id.find("://");
  return scheme == std::string_view::npos ? id : id.substr(scheme + 3);
}

}  // namespace

PodMatcher::PodMatcher(std::span<const PodIdentity> pods) : pods_(pods) {
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    // A mirror pod's own UID names an object of the API server, never a cgroup.
    if (isMirror(pods_[i])) {
      byHash_.emplace(pods_[i].configHash, i);
    } else {
      byUid_.emplace(pods_[i].uid, i);
    }
  }
}

std::vector<std::size_t> PodMatcher::claimsOf(std::string_view uidInTree) const {
  if (const auto own = byUid_.find(uidInTree); own != byUid_.end()) return {own->second};
  std::vector<std::size_t> out;
  const auto [begin, end] = byHash_.equal_range(uidInTree);
  for (auto claim = begin; claim != end; ++claim) out.push_back(claim->second);
  return out;
}

std::optional<std::size_t> PodMatcher::podOf(std::string_view uidInTree) const {
  const auto claims = claimsOf(uidInTree);
  if (claims.size() != 1) return std::nullopt;
  return claims.front();
}

std::optional<PodMatch> PodMatcher::match(const PodPath& path, const std::optional<BundleNames>& bundle) const {
  if (bundle && !path.container.empty()) {
    for (const std::size_t index : claimsOf(path.uid)) {
      const PodIdentity& pod = pods_[index];
      const bool agrees = bundle->nameSpace == pod.nameSpace && bundle->pod == pod.name;
      if (agrees && pod.containers.contains(bundle->container)) return PodMatch{index, bundle->container};
    }
    return std::nullopt;
  }
  const auto index = podOf(path.uid);
  if (!index || path.container.empty()) return index ? std::optional(PodMatch{*index, {}}) : std::nullopt;
  for (const auto& [name, id] : pods_[*index].containers) {
    if (!path.containerId.empty() && bareId(id) == path.containerId) return PodMatch{*index, name};
  }
  return std::nullopt;
}

}  // namespace memqos::cgroup
