#include "control/protection.h"

#include <algorithm>

#include "cgroup/layout.h"

namespace memqos::control {
namespace {

Protection operator+(const Protection& a, const Protection& b) {
  return {a.min + b.min, a.low + b.low};
}

std::size_t depthOf(const std::string& path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

bool isZero(const Protection& p) {
  return p.min.count == 0 && p.low.count == 0;
}

// Deepest first, so that a parent sees its children's results.
std::vector<const Ancestor*> deepestFirst(const std::vector<Ancestor>& ancestors) {
  std::vector<const Ancestor*> order;
  order.reserve(ancestors.size());
  for (const Ancestor& ancestor : ancestors) order.push_back(&ancestor);
  std::stable_sort(order.begin(), order.end(),
                   [](const Ancestor* a, const Ancestor* b) { return depthOf(a->path) > depthOf(b->path); });
  return order;
}

Bytes effectiveShare(Bytes own, Bytes parentEffective, Bytes childrenSum) {
  if (childrenSum <= parentEffective || childrenSum.count <= 0) return own;
  return scale(own, parentEffective.count, childrenSum.count);
}

}  // namespace

std::map<std::string, Protection> holdProtection(const ProtectionInput& input) {
  std::map<std::string, Protection> held;
  std::map<std::string, Protection> sums;  // parent path -> sum of what its children hold because of memqos
  for (const ProtectedPod& pod : input.pods) {
    Protection sum;
    for (const auto& [path, value] : pod.containers) {
      sum = sum + value;
      if (pod.path.empty()) sums[cgroup::parentOf(path)] = sums[cgroup::parentOf(path)] + value;
    }
    for (const auto& [name, value] : pod.waiting) sum = sum + value;
    if (pod.path.empty()) continue;
    held[pod.path] = sum;
    sums[cgroup::parentOf(pod.path)] = sums[cgroup::parentOf(pod.path)] + sum;
  }
  const Protection most{input.shareMin.of(input.allocatable).roundDown(kPage),
                        input.shareLow.of(input.allocatable).roundDown(kPage)};
  std::map<std::string, bool> protects;  // an ancestor with a protected pod below it
  for (const auto& [parent, sum] : sums) protects[parent] = !isZero(sum);
  for (const Ancestor* ancestor : deepestFirst(input.ancestors)) {
    const std::string parent = cgroup::parentOf(ancestor->path);
    if (!protects[ancestor->path]) {
      // Not held, but a parent that is counts it with what it has.
      sums[parent] = sums[parent] + ancestor->baseline;
      continue;
    }
    const Protection sum = sums[ancestor->path] + ancestor->outside;
    const Protection value{std::max(ancestor->baseline.min, std::min(sum.min, most.min)),
                           std::max(ancestor->baseline.low, std::min(sum.low, most.low))};
    held[ancestor->path] = value;
    sums[parent] = sums[parent] + value;
    protects[parent] = true;
  }
  return held;
}

std::map<std::string, Effective> effectiveProtection(const EffectiveInput& input) {
  std::map<std::string, Protection> managed;  // parent -> sum of the known children's settings
  std::vector<const std::string*> order;
  for (const auto& [path, value] : input.settings) {
    order.push_back(&path);
    managed[cgroup::parentOf(path)] = managed[cgroup::parentOf(path)] + value;
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const std::string* a, const std::string* b) { return depthOf(*a) < depthOf(*b); });
  std::map<std::string, Effective> out;
  for (const std::string* path : order) {
    const Protection own = input.settings.at(*path);
    const std::string parentPath = cgroup::parentOf(*path);
    const auto parent = out.find(parentPath);
    if (parent == out.end()) {
      out[*path] = {own, {}, {}};
      continue;
    }
    const Protection known = managed[parentPath];
    const auto baseline = input.baselines.find(parentPath);
    const Protection theirs = baseline == input.baselines.end() ? Protection{} : baseline->second;
    const Protection sum{known.min + std::max(Bytes{0}, theirs.min - known.min),
                         known.low + std::max(Bytes{0}, theirs.low - known.low)};
    const Effective& above = parent->second;
    Effective result;
    result.value = {effectiveShare(own.min, above.value.min, sum.min),
                    effectiveShare(own.low, above.value.low, sum.low)};
    // The topmost cut is the one to name: below it nothing could have been better.
    result.limitingMin = !above.limitingMin.empty() ? above.limitingMin : result.value.min < own.min ? parentPath : "";
    result.limitingLow = !above.limitingLow.empty() ? above.limitingLow : result.value.low < own.low ? parentPath : "";
    out[*path] = result;
  }
  return out;
}

}  // namespace memqos::control
