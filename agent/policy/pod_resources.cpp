#include "policy/pod_resources.h"

#include <algorithm>

namespace memqos::policy {
namespace {

// Saturates: amounts are outside values.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return (Bytes{a} + Bytes{b}).count;
}

// An unset request is the limit.
void applyDefaults(Resources& resources) {
  for (const Resource resource : kResources) {
    auto& request = resources.requests[at(resource)];
    if (!request) request = resources.limits[at(resource)];
  }
}

// What the pod needs of it at once: the containers and sidecars together, or an init container with the sidecars that
// were started before it. nullopt: no container says.
std::optional<std::int64_t> aggregate(const std::vector<ContainerResources>& containers, Amounts Resources::*which,
                                      Resource resource) {
  std::optional<std::int64_t> lasting;
  std::optional<std::int64_t> most;
  std::int64_t sidecars = 0;
  for (const ContainerResources& container : containers) {
    const auto amount = (container.resources.*which)[at(resource)];
    if (!amount) continue;
    if (container.kind == ContainerKind::init) {
      most = std::max(most.value_or(0), sum(sidecars, *amount));
      continue;
    }
    lasting = sum(lasting.value_or(0), *amount);
    if (container.kind == ContainerKind::sidecar) sidecars = sum(sidecars, *amount);
  }
  return std::max(lasting, most);
}

void applyPodDefaults(Resources& pod, const std::vector<ContainerResources>& containers) {
  const auto isSet = [](const Amounts& amounts) {
    return std::any_of(amounts.begin(), amounts.end(), [](const auto& amount) { return amount.has_value(); });
  };
  const bool hadLimits = isSet(pod.limits);
  if (!hadLimits && isSet(pod.requests)) {
    for (const Resource resource : kResources) {
      const bool everywhere = std::all_of(containers.begin(), containers.end(), [&](const ContainerResources& c) {
        return c.resources.limits[at(resource)].has_value();
      });
      if (everywhere) pod.limits[at(resource)] = aggregate(containers, &Resources::limits, resource);
    }
  }
  if (!hadLimits) return;
  for (const Resource resource : kResources) {
    auto& request = pod.requests[at(resource)];
    if (!request) request = aggregate(containers, &Resources::requests, resource);
    if (!request) request = pod.limits[at(resource)];
  }
}

// The class from sums; `limited`: cpu and memory have a limit everywhere.
QosClass classOf(const Amounts& requests, const Amounts& limits, bool limited) {
  const auto positive = [](const std::optional<std::int64_t>& amount) { return amount && *amount > 0; };
  const bool any =
      std::any_of(requests.begin(), requests.end(), positive) || std::any_of(limits.begin(), limits.end(), positive);
  if (!any) return QosClass::bestEffort;
  return limited && requests == limits ? QosClass::guaranteed : QosClass::burstable;
}

}  // namespace

bool Resources::empty() const {
  const auto isSet = [](const auto& amount) { return amount.has_value(); };
  return std::none_of(requests.begin(), requests.end(), isSet) && std::none_of(limits.begin(), limits.end(), isSet);
}

QosClass qosOf(std::vector<ContainerResources> containers, Resources podLevel) {
  // Ephemeral containers cannot have resources and do not count.
  std::erase_if(containers, [](const ContainerResources& c) { return c.kind == ContainerKind::ephemeral; });
  for (ContainerResources& container : containers) applyDefaults(container.resources);
  const auto limitsAll = [](const Resources& resources) {
    return std::all_of(resources.limits.begin(), resources.limits.end(), [](const auto& l) { return l && *l > 0; });
  };
  if (!podLevel.empty()) {
    applyPodDefaults(podLevel, containers);
    return classOf(podLevel.requests, podLevel.limits, limitsAll(podLevel));
  }
  Resources total;
  bool limited = true;
  for (const ContainerResources& container : containers) {
    limited = limited && limitsAll(container.resources);
    for (const Resource resource : kResources) {
      const std::size_t i = at(resource);
      const auto add = [](std::optional<std::int64_t>& to, const std::optional<std::int64_t>& amount) {
        if (amount && *amount > 0) to = sum(to.value_or(0), *amount);
      };
      add(total.requests[i], container.resources.requests[i]);
      add(total.limits[i], container.resources.limits[i]);
    }
  }
  return classOf(total.requests, total.limits, limited);
}

}  // namespace memqos::policy
