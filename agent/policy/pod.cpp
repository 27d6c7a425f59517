#include "policy/pod.h"

#include <algorithm>

namespace memqos::policy {
namespace {

// 0 is how Kubernetes spells "none".
bool isSet(const std::optional<Bytes>& amount) {
  return amount && amount->count > 0;
}

QosClass ofAmounts(bool any, bool limitEverywhere, bool requestIsLimit) {
  if (!any) return QosClass::bestEffort;
  return limitEverywhere && requestIsLimit ? QosClass::guaranteed : QosClass::burstable;
}

}  // namespace

std::string_view name(QosClass qos) {
  switch (qos) {
    case QosClass::guaranteed:
      return "Guaranteed";
    case QosClass::burstable:
      return "Burstable";
    case QosClass::bestEffort:
      return "BestEffort";
  }
  return "";
}

std::optional<Bytes> requestOf(const Container& container) {
  if (isSet(container.memoryRequest)) return container.memoryRequest;
  if (!container.memoryRequest && isSet(container.memoryLimit)) return container.memoryLimit;
  return std::nullopt;
}

// Kubernetes: pkg/apis/core/v1/defaults.go, defaultPodRequests().
std::optional<Bytes> podRequestOf(const Pod& pod) {
  if (isSet(pod.podRequest)) return pod.podRequest;
  if (pod.podRequest || !isSet(pod.podLimit)) return std::nullopt;
  Bytes sum;
  for (const Container& container : pod.containers) {
    const bool lasts = container.kind == ContainerKind::regular || container.kind == ContainerKind::sidecar;
    if (lasts) sum += requestOf(container).value_or(Bytes{});
  }
  return sum.count > 0 ? sum : pod.podLimit;
}

// Kubernetes: pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS().
QosClass qosOf(const Pod& pod) {
  if (pod.statusQos) return *pod.statusQos;
  if (isSet(pod.podRequest) || isSet(pod.podLimit)) {
    return ofAmounts(true, isSet(pod.podLimit), podRequestOf(pod) == pod.podLimit);
  }
  bool any = false;
  bool limitEverywhere = true;
  Bytes requests;
  Bytes limits;
  for (const Container& container : pod.containers) {
    if (container.kind == ContainerKind::ephemeral) continue;
    any = any || isSet(container.memoryRequest) || isSet(container.memoryLimit);
    limitEverywhere = limitEverywhere && isSet(container.memoryLimit);
    limits += container.memoryLimit.value_or(Bytes{});
    requests += requestOf(container).value_or(Bytes{});
  }
  return ofAmounts(any, limitEverywhere, requests == limits);
}

}  // namespace memqos::policy
