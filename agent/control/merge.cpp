#include "control/merge.h"

#include <algorithm>

#include "policy/basis.h"
#include "policy/sandbox.h"

namespace memqos::control {
namespace {

using cgroup::File;

// What a container is to have as protection: as asked, and with its low held.
struct Wanted {
  Protection plain;
  Protection held;
};

Bytes bytesOf(const policy::ContainerPlan& plan, policy::Knob knob) {
  return plan.wantedLimit(knob).value_or(Limit()).bytes();
}

bool protects(const policy::ContainerPlan& plan) {
  return plan.wantedLimit(policy::Knob::memoryMin) || plan.wantedLimit(policy::Knob::memoryLow);
}

// By index of the pod's containers. The mins of a pod together stay under its limit with room, held or not.
std::vector<Wanted> wantedOf(const MergePod& pod, bool holdLow) {
  std::vector<Wanted> out;
  Bytes sum;
  for (const MergeContainer& container : pod.containers) {
    const Protection plain{bytesOf(container.plan, policy::Knob::memoryMin),
                           bytesOf(container.plan, policy::Knob::memoryLow)};
    Protection held = plain;
    if (holdLow && !pod.valveOpen) {
      held.min = std::max(plain.min, std::min(plain.low, policy::mostMin(container.plan.limit).bytes()));
    }
    sum += held.min;
    out.push_back({plain, held});
  }
  const Bytes most = policy::mostMin(pod.limit).bytes();
  if (sum <= most) return out;
  for (Wanted& wanted : out) {
    wanted.held.min = std::max(wanted.plain.min, scale(wanted.held.min, most.count, sum.count).roundDown(kPage));
  }
  return out;
}

Target targetOf(const cgroup::Handle& cgroup, File file, Bytes value, Role role) {
  return {cgroup, file, Limit(value), role};
}

void addFiles(const MergeContainer& container, const Wanted& wanted, std::vector<Target>& out) {
  if (!container.cgroup) return;
  for (const File file : cgroup::kFiles) {
    const auto asked = container.plan.wantedLimit(knobOf(file));
    if (file == File::memoryMin && wanted.held.min > wanted.plain.min) {
      Target target = targetOf(container.cgroup, file, wanted.held.min, Role::container);
      target.held = true;
      target.plain = asked;
      out.push_back(target);
    } else if (asked) {
      out.push_back({container.cgroup, file, *asked, Role::container});
    }
  }
}

// Protection of the pod's cgroup is the sum of its containers' anyway.
void addSandboxFiles(const MergePod& pod, std::vector<Target>& out) {
  std::vector<const policy::ContainerPlan*> plans;
  plans.reserve(pod.containers.size());
  for (const MergeContainer& container : pod.containers) plans.push_back(&container.plan);
  for (const File file : cgroup::kFiles) {
    if (file == File::memoryMin || file == File::memoryLow) continue;
    const auto value = policy::sandboxValue(plans, knobOf(file));
    const bool atLimit = file == File::memoryHigh && value && *value >= pod.limit;
    if (value && !atLimit) out.push_back({pod.cgroup, file, *value, Role::podSlice});
  }
}

ProtectedPod protectedPod(const MergePod& pod, const std::vector<Wanted>& wanted, bool held) {
  ProtectedPod out;
  if (pod.cgroup) out.path = pod.cgroup->path();
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const MergeContainer& container = pod.containers[i];
    const Protection value = held ? wanted[i].held : wanted[i].plain;
    if (container.cgroup) {
      out.containers[container.cgroup->path()] = value;
    } else if (container.plan.kind != policy::ContainerKind::init) {
      out.waiting[container.plan.name] = value;
    }
  }
  return out;
}

// The same sums twice: with the lows held, and as they are when nobody watches.
struct Sums {
  ProtectionInput held;
  ProtectionInput plain;
};

using Held = std::map<std::string, Protection>;

void addHold(const cgroup::Handle& cgroup, const Held& held, const Held& plain, Role role, std::vector<Target>& out) {
  const auto value = held.find(cgroup->path());
  if (value == held.end()) return;
  Target min = targetOf(cgroup, File::memoryMin, value->second.min, role);
  const auto otherwise = plain.find(cgroup->path());
  const Bytes unheld = otherwise == plain.end() ? Bytes{} : otherwise->second.min;
  if (value->second.min > unheld) {
    min.held = true;
    min.plain = Limit(unheld);
  }
  out.push_back(min);
  out.push_back(targetOf(cgroup, File::memoryLow, value->second.low, role));
}

}  // namespace

policy::Knob knobOf(File file) {
  switch (file) {
    case File::memoryMin:
      return policy::Knob::memoryMin;
    case File::memoryLow:
      return policy::Knob::memoryLow;
    case File::memoryHigh:
      return policy::Knob::memoryHigh;
    case File::swapMax:
      return policy::Knob::swapMax;
    case File::swapHigh:
      return policy::Knob::swapHigh;
    case File::zswapMax:
      return policy::Knob::zswapMax;
    case File::zswapWriteback:
      return policy::Knob::zswapWriteback;
    case File::oomGroup:
      return policy::Knob::oomGroup;
  }
  return policy::Knob::memoryMin;
}

std::vector<Target> merge(const MergeInput& input) {
  std::vector<Target> out;
  Sums sums;
  for (ProtectionInput* side : {&sums.held, &sums.plain}) {
    side->allocatable = input.allocatable;
    side->shareMin = input.shareMin;
    side->shareLow = input.shareLow;
    if (!input.holdAncestors) continue;
    for (const MergeAncestor& ancestor : input.ancestors) {
      side->ancestors.push_back({ancestor.cgroup->path(), ancestor.baseline, ancestor.outside});
    }
  }
  for (const MergePod& pod : input.pods) {
    const std::vector<Wanted> wanted = wantedOf(pod, input.holdLow);
    bool any = false;
    const bool together = pod.sandboxed && pod.cgroup;
    if (together) addSandboxFiles(pod, out);
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      if (!together) addFiles(pod.containers[i], wanted[i], out);
      any = any || protects(pod.containers[i].plan);
    }
    if (!any) continue;
    ProtectedPod held = protectedPod(pod, wanted, true);
    ProtectedPod plain = protectedPod(pod, wanted, false);
    // Outside a kubepods tree nothing above the pod is touched: its sums must not reach an ancestor of somebody's.
    if (pod.inKubepods) {
      sums.held.pods.push_back(std::move(held));
      sums.plain.pods.push_back(std::move(plain));
    } else if (pod.cgroup) {
      ProtectionInput heldAlone;
      heldAlone.pods.push_back(std::move(held));
      ProtectionInput plainAlone;
      plainAlone.pods.push_back(std::move(plain));
      addHold(pod.cgroup, holdProtection(heldAlone), holdProtection(plainAlone), Role::podSlice, out);
    }
  }
  const Held held = holdProtection(sums.held);
  const Held plain = holdProtection(sums.plain);
  for (const MergePod& pod : input.pods) {
    if (pod.cgroup && pod.inKubepods) addHold(pod.cgroup, held, plain, Role::podSlice, out);
  }
  for (const MergeAncestor& ancestor : input.ancestors) {
    if (input.holdAncestors) addHold(ancestor.cgroup, held, plain, Role::ancestor, out);
  }
  return out;
}

}  // namespace memqos::control
