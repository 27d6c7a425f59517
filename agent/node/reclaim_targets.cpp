#include "node/reclaim_targets.h"

#include <algorithm>

namespace memqos::node {
namespace {

using policy::Knob;
using reclaim::How;

How howOf(const policy::ContainerPlan& container) {
  const std::string_view word = container.word(Knob::reclaim);
  if (word == "watermark") return How::watermark;
  if (word == "pressure") return How::pressure;
  if (word == "auto") return How::automatic;
  return How::off;
}

std::optional<Bytes> numberOf(const policy::ContainerPlan& container, Knob knob) {
  const auto limit = container.wantedLimit(knob);
  if (!limit || limit->isMax()) return std::nullopt;
  return limit->bytes();
}

// The smallest memory.max up to the pod, or memory.high: what the container runs into. Of memory.high the Plan's value,
// else the one that somebody else wrote: a squeezed one must not evict page cache.
std::optional<Bytes> limitOf(const policy::ContainerPlan& container, const policy::ContainerFacts& facts) {
  Limit out = facts.limit.value_or(Limit::max());
  out = std::min(out, container.wantedLimit(Knob::memoryHigh).value_or(facts.foundHigh.value_or(Limit::max())));
  if (out.isMax()) return std::nullopt;
  return out.bytes();
}

ReclaimTarget targetOf(const policy::ContainerPlan& container, const policy::ContainerFacts& facts,
                       const ReclaimInput& input) {
  ReclaimTarget out;
  out.container = container.name;
  reclaim::Wanted& wanted = out.wanted;
  wanted.how = howOf(container);
  wanted.limit = limitOf(container, facts);
  wanted.start = numberOf(container, Knob::reclaimHigh);
  wanted.stop = numberOf(container, Knob::reclaimLow);
  wanted.cacheLimit = numberOf(container, Knob::pageCacheLimit);
  if (!wanted.limit && wanted.start) wanted.limit = input.allocatable;
  if (wanted.how == How::watermark && !wanted.limit) {
    out.why = "the container has no limit, and no reclaim-high says where to start";
    wanted.how = How::off;
  }
  wanted.floor = std::max(container.wantedLimit(Knob::memoryMin).value_or(facts.foundMin.value_or(Limit())),
                          container.wantedLimit(Knob::memoryLow).value_or(facts.foundLow.value_or(Limit())))
                     .bytes();
  if (input.floorAtRequest) wanted.floor = std::max(wanted.floor, container.request);
  out.off = !input.off.empty();
  if (out.off) out.why = input.off;
  return out;
}

// A pod's own limit is watched where its containers may hit it before their own, together or with the sandbox.
// `first`: where the pod's containers begin.
void addPod(const SurveyedPod& pod, std::size_t first, ReclaimTargets& out) {
  const Limit limit = pod.facts.podLimit.value_or(Limit::max());
  if (!pod.cgroup || limit.isMax()) return;
  bool any = false;
  for (std::size_t i = first; i < out.containers.size(); ++i) {
    ReclaimTarget& target = out.containers[i];
    const bool watches = target.wanted.how == How::watermark || target.wanted.how == How::automatic;
    if (!target.why.empty() || !watches || target.cgroup == pod.cgroup) continue;
    target.wanted.pod = pod.cgroup->id();
    any = true;
  }
  if (!any) return;
  out.pods.push_back({pod.cgroup->id(), limit.bytes()});
  out.podCgroups[pod.cgroup->id()] = pod.cgroup;
}

}  // namespace

bool asksForReclaim(const policy::ContainerPlan& container) {
  return howOf(container) != How::off || numberOf(container, Knob::pageCacheLimit);
}

ReclaimTargets reclaimTargets(const ReclaimInput& input) {
  ReclaimTargets out;
  for (const policy::PodPlan& plan : input.plans) {
    const auto found = input.survey.pods.find(plan.uid);
    if (found == input.survey.pods.end()) continue;
    const SurveyedPod& pod = found->second;
    const std::size_t first = out.containers.size();
    for (const policy::ContainerPlan& container : plan.containers) {
      const auto cgroup = pod.containers.find(container.name);
      if (cgroup == pod.containers.end() || !asksForReclaim(container)) continue;
      const auto facts = pod.facts.containers.find(container.name);
      ReclaimTarget target =
          targetOf(container, facts == pod.facts.containers.end() ? policy::ContainerFacts{} : facts->second, input);
      target.uid = plan.uid;
      target.cgroup = cgroup->second;
      target.pod = pod.cgroup;
      target.wanted.id = cgroup->second->id();
      out.containers.push_back(std::move(target));
    }
    addPod(pod, first, out);
  }
  return out;
}

}  // namespace memqos::node
