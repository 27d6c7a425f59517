// Pure: whose cgroup a directory is. A name in the tree is only a claim; the runtime and the API server must agree.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/layout.h"

namespace memqos::cgroup {

// A pod as the API server has it, as far as its cgroups go. The phase is no part of it: a static pod may be shown as
// Pending for ever while it runs.
struct PodIdentity {
  std::string uid;
  std::string nameSpace;
  std::string name;
  std::string configHash;    // annotation kubernetes.io/config.hash
  std::string configMirror;  // annotation kubernetes.io/config.mirror
  std::map<std::string, std::string>
      containers{};  // name -> id from the status, "containerd://<id>"; "" before it runs
  bool operator==(const PodIdentity&) const = default;
};

// What the runtime's own bundle says of a container.
struct BundleNames {
  std::string nameSpace;
  std::string pod;
  std::string container;
};

struct PodMatch {
  std::size_t pod = 0;    // index into the pods
  std::string container;  // name; empty for the pod's own cgroup
  bool operator==(const PodMatch&) const = default;
};

class PodMatcher {
 public:
  // Keeps a view of `pods`.
  explicit PodMatcher(std::span<const PodIdentity> pods);
  // The pod that the kubelet names so in the tree: by its UID; of a mirror pod by the hash of its manifest, unless that
  // is another pod's UID or several mirror pods claim it. nullopt: unknown, not to be touched.
  [[nodiscard]] std::optional<std::size_t> podOf(std::string_view uidInTree) const;
  // The pod and the container of a directory. With a bundle its namespace, pod and container must be those of the API
  // server's object (which also tells the mirror pods apart that claim one hash); without one the status must name the
  // container's id. nullopt: somebody else's, left behind, or not known yet; not to be touched.
  [[nodiscard]] std::optional<PodMatch> match(const PodPath& path, const std::optional<BundleNames>& bundle = {}) const;

 private:
  [[nodiscard]] std::vector<std::size_t> claimsOf(std::string_view uidInTree) const;

  std::span<const PodIdentity> pods_;
  std::map<std::string, std::size_t, std::less<>> byUid_;
  std::multimap<std::string, std::size_t, std::less<>> byHash_;
};

}  // namespace memqos::cgroup
