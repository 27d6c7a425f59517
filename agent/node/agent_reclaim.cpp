// Background reclaim: from plans to what the keeper is to do, and what is told of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "node/agent.h"

namespace memqos::node {

ReclaimKeeper::Callbacks Agent::reclaimCallbacks() {
  ReclaimKeeper::Callbacks out;
  out.wrote = [this](loop::Duration wall) { exposition_.observeReclaim(wall); };
  out.dropped = [this] { ++counters_.dropped["reclaim"]; };
  out.tell = [this](const std::string& uid, std::vector<policy::Finding> findings) {
    const auto plan =
        std::find_if(plans_.begin(), plans_.end(), [&](const policy::PodPlan& one) { return one.uid == uid; });
    if (plan == plans_.end()) return;
    for (policy::Finding& finding : findings) {
      finding.nameSpace = plan->nameSpace;
      finding.pod = plan->name;
    }
    tell(uid + "/reclaim", findings);
  };
  return out;
}

void Agent::watchReclaim() {
  std::string off;
  if (cgroup::lacks(ground_.features, "memory.reclaim")) {
    off = "this kernel has no memory.reclaim";
  } else if (!isolatedCpus_.empty() && !config_.reclaimOnIsolatedCpus) {
    off = fmt::format("off, because CPUs are isolated here ({}): reclaim would disturb them (reclaim.onIsolatedCpus)",
                      isolatedCpus_);
  }
  ReclaimTargets targets =
      reclaimTargets({plans_, survey_, ground_.facts.allocatable, config_.reclaimFloorAtRequest, off});
  // On cgroup v1 it was said that nothing is programmed at all.
  const bool asked = std::any_of(targets.containers.begin(), targets.containers.end(),
                                 [](const ReclaimTarget& target) { return target.off; });
  if (asked && !cgroup::lacks(ground_.features, "cgroup-v2") && off != reclaimOffSaid_) {
    log::warning("nothing is reclaimed on this node", {{"reason", "Unsupported"}, {"error", off}});
    reclaimOffSaid_ = off;
  }
  reclaim_->watch(std::move(targets));
}

}  // namespace memqos::node
