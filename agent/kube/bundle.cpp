#include "kube/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "kube/objects.h"

namespace memqos::kube {
namespace {

using document::Kind;
using document::Node;

constexpr std::size_t kConfigCap = std::size_t{4} << 20;
constexpr std::size_t kLongestId = 128;

// containerd: internal/cri/annotations/annotations.go; CRI-O: pkg/annotations and the kubelet's labels
// (pkg/kubelet/types/labels.go).
struct Keys {
  const char *nameSpace, *pod, *container, *type;
};
constexpr std::array kKeys = {
    Keys{"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name",
         "io.kubernetes.cri.container-type"},
    Keys{"io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name",
         "io.kubernetes.cri-o.ContainerType"},
};

// Where the folder of a container is, below a runtime's state directory.
constexpr std::array kContainerd = {"/run/containerd", "/run/k3s/containerd", "/run/k0s/containerd",
                                    "/var/snap/microk8s/common/run/containerd"};
constexpr std::array kCrio = {"/run/containers/storage", "/var/lib/containers/storage"};
constexpr const char* kTask = "/io.containerd.runtime.v2.task/k8s.io/";
constexpr const char* kTaskConfig = "/config.json";
constexpr const char* kOverlay = "/overlay-containers/";
constexpr const char* kOverlayConfig = "/userdata/config.json";

std::string annotation(const Node& annotations, const char* key) {
  const Node* node = annotations.find(key);
  return node == nullptr || node->kind != Kind::string ? std::string() : node->scalar;
}

}  // namespace

std::optional<cgroup::BundleNames> decodeBundle(const Node& config) {
  const Node* annotations = config.find("annotations");
  if (annotations == nullptr) return std::nullopt;
  for (const Keys& keys : kKeys) {
    cgroup::BundleNames out{annotation(*annotations, keys.nameSpace), annotation(*annotations, keys.pod),
                            annotation(*annotations, keys.container)};
    if (out.nameSpace.empty() || out.pod.empty()) continue;
    if (annotation(*annotations, keys.type) == "sandbox") out.container.clear();
    return out;
  }
  return std::nullopt;
}

Bundles::Bundles(const std::vector<std::string>& stateDirs, const std::string& root) {
  for (const std::string& dir : stateDirs) {
    places_.emplace_back(root + dir + kTask, kTaskConfig);
    places_.emplace_back(root + dir + kOverlay, kOverlayConfig);
  }
  for (const char* dir : kContainerd) places_.emplace_back(root + dir + kTask, kTaskConfig);
  for (const char* dir : kCrio) places_.emplace_back(root + dir + kOverlay, kOverlayConfig);
}

std::optional<cgroup::BundleNames> Bundles::find(std::string_view containerId) const {
  const auto plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (containerId.empty() || containerId.size() > kLongestId ||
      !std::all_of(containerId.begin(), containerId.end(), plain))
    return std::nullopt;
  for (const auto& [before, after] : places_) {
    const auto text = readFile(fmt::format("{}{}{}", before, containerId, after), kConfigCap);
    if (!text) continue;
    const auto config = document::parseJson(*text);
    return config ? decodeBundle(*config) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace memqos::kube
