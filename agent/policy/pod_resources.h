// Requests and limits as manifests have them, and the QoS class that Kubernetes gives for them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/pod.h"

namespace memqos::policy {

enum class Resource { cpu, memory };
inline constexpr std::array kResources = {Resource::cpu, Resource::memory};

// cpu in thousandths of a core, memory in bytes.
using Amounts = std::array<std::optional<std::int64_t>, kResources.size()>;  // indexed by Resource
constexpr std::size_t at(Resource resource) {
  return static_cast<std::size_t>(resource);
}

struct Resources {
  Amounts requests;
  Amounts limits;
  // No amount at all.
  [[nodiscard]] bool empty() const;
};

struct ContainerResources {
  ContainerKind kind = ContainerKind::regular;
  Resources resources;
};

// Kubernetes' defaults of a container and of the pod level, then its rule for the class
// (pkg/apis/core/v1/defaults.go, pkg/apis/core/v1/helper/qos/qos.go).
QosClass qosOf(std::vector<ContainerResources> containers, Resources podLevel);

}  // namespace memqos::policy
