#include "policy/basis.h"

#include <algorithm>

namespace memqos::policy {
namespace {

const ContainerFacts& factsOf(const PodFacts& facts, const std::string& container) {
  static const ContainerFacts kNone;
  const auto found = facts.containers.find(container);
  return found == facts.containers.end() ? kNone : found->second;
}

// A limit of the spec; 0 is how Kubernetes spells "none".
Limit ofSpec(const std::optional<Bytes>& limit) {
  return limit && limit->count > 0 ? Limit(*limit) : Limit::max();
}

Limit podLimitWithoutNode(const Pod& pod, const PodFacts& facts) {
  return facts.podLimit ? *facts.podLimit : ofSpec(pod.podLimit);
}

Limit containerLimit(const Pod& pod, const Container& container, const PodFacts& facts) {
  const auto& limit = factsOf(facts, container.name).limit;
  return limit ? *limit : std::min(ofSpec(container.memoryLimit), podLimitWithoutNode(pod, facts));
}

std::optional<Bytes> ownRequest(const Container& container, const PodFacts& facts) {
  const auto& allocated = factsOf(facts, container.name).allocatedRequest;
  if (allocated && allocated->count > 0) return allocated;
  return requestOf(container);
}

bool lasts(ContainerKind kind) {
  return kind == ContainerKind::regular || kind == ContainerKind::sidecar;
}

// What is left of the pod-level request for each container without its own.
struct Shares {
  Bytes lasting;  // regular and sidecar
  Bytes init;
};
Shares sharesOf(const Pod& pod, const PodFacts& facts) {
  const auto whole = podRequestOf(pod);
  if (!whole) return {};
  Bytes taken;
  Bytes takenBySidecars;
  std::int64_t sharers = 0;
  std::int64_t sharingSidecars = 0;
  for (const Container& container : pod.containers) {
    if (!lasts(container.kind)) continue;
    const bool sidecar = container.kind == ContainerKind::sidecar;
    const auto own = ownRequest(container, facts);
    taken += own.value_or(Bytes{});
    if (sidecar) takenBySidecars += own.value_or(Bytes{});
    if (!own) ++sharers;
    if (!own && sidecar) ++sharingSidecars;
  }
  Shares shares;
  const Bytes left = std::max(*whole - taken, Bytes{});
  if (sharers > 0) shares.lasting = scale(left, 1, sharers);
  const Bytes sidecars = takenBySidecars + scale(shares.lasting, sharingSidecars, 1);
  shares.init = std::max(*whole - sidecars, Bytes{});
  return shares;
}

}  // namespace

std::vector<Basis> basesOf(const Pod& pod, const PodFacts& facts, const NodeFacts& node) {
  const Shares shares = sharesOf(pod, facts);
  std::vector<Basis> out;
  out.reserve(pod.containers.size());
  for (const Container& container : pod.containers) {
    Basis basis;
    basis.limit = containerLimit(pod, container, facts);
    if (basis.limit.isMax() && node.allocatable.count > 0) {
      basis.limit = node.allocatable;
      basis.limitIsNode = true;
    }
    Bytes share;
    if (lasts(container.kind)) share = shares.lasting;
    if (container.kind == ContainerKind::init) share = shares.init;
    basis.request = ownRequest(container, facts).value_or(share);
    out.push_back(basis);
  }
  return out;
}

Limit podLimitOf(const Pod& pod, const PodFacts& facts, const NodeFacts& node) {
  const Limit limit = podLimitWithoutNode(pod, facts);
  return limit.isMax() && node.allocatable.count > 0 ? Limit(node.allocatable) : limit;
}

Limit mostMin(Limit limit) {
  if (limit.isMax()) return limit;
  const Bytes tenth = Percent{10'000'000'000}.of(limit.bytes());
  return std::max(limit.bytes() - std::max(mebibytes(32), tenth), Bytes{});
}

}  // namespace memqos::policy
