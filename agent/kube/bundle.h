// The runtime's own word about a container: the config.json of its bundle, there before its cgroup is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/match.h"
#include "document/node.h"

namespace memqos::kube {

// What containerd and CRI-O write into the annotations of config.json. nullopt: neither did (Docker, podman). A pod's
// sandbox has an empty container name.
std::optional<cgroup::BundleNames> decodeBundle(const document::Node& config);

class Bundles {
 public:
  // `stateDirs` are looked into before the presets: containerd, and as k3s, rke2, k0s and microk8s place it, CRI-O.
  // `root` stands before each, for tests.
  explicit Bundles(const std::vector<std::string>& stateDirs = {}, const std::string& root = "");
  // nullopt: there is no readable bundle of that container, or it names no pod. Reads a file of up to a few hundred
  // KiB.
  [[nodiscard]] std::optional<cgroup::BundleNames> find(std::string_view containerId) const;

 private:
  std::vector<std::pair<std::string, std::string>> places_;  // what stands before and after the id
};

}  // namespace memqos::kube
