// The agent in a cluster: pods, the node's memory and the end of it all, as the API server has them.
#include <algorithm>

#include "base/log.h"
#include "kube/bundle.h"
#include "node/agent.h"

namespace memqos::node {

void Agent::startCluster() {
  kube::ClusterOptions options;
  options.node = options_.nodeName;
  options.nameSpace = options_.agentNamespace;
  options.daemonSet = options_.agentDaemonSet;
  kube::Cluster::Callbacks callbacks;
  callbacks.podsChanged = [this] { clusterPods(); };
  callbacks.allocatable = [this](Bytes allocatable) {
    if (ground_.facts.allocatable == allocatable) return;
    log::info("the node's allocatable memory", {{"bytes", allocatable.count}});
    ground_.facts.allocatable = allocatable;
    forgetPlans();
    requestSurvey("plan");
  };
  cluster_ = std::make_unique<kube::Cluster>(loop_, ground_.transport, std::move(options), std::move(callbacks));
  cluster_->start();
}

void Agent::clusterPods() {
  std::vector<policy::Pod> pods;
  pods.reserve(cluster_->pods().size());
  for (const auto& [key, record] : cluster_->pods()) pods.push_back(record.pod);
  // Whose a cgroup is depends on every pod there is.
  if (setPods(std::move(pods))) happened_.everything = true;
  requestSurvey("plan");
}

// In the order of pods_, which is that of the cluster's.
std::shared_ptr<const ClusterView> Agent::clusterView() const {
  if (!cluster_) return nullptr;
  auto view = std::make_shared<ClusterView>();
  for (const policy::Pod& pod : pods_) {
    const auto record = cluster_->pods().find(pod.nameSpace + "/" + pod.name);
    const bool same = record != cluster_->pods().end() && record->second.identity.uid == pod.uid;
    view->pods.push_back(same ? record->second.identity
                              : cgroup::PodIdentity{pod.uid, pod.nameSpace, pod.name, {}, {}, {}});
  }
  view->bundle = [bundles = kube::Bundles(config_.stateDirs)](std::string_view id) { return bundles.find(id); };
  return view;
}

policy::PodFacts Agent::factsOf(const policy::Pod& pod) const {
  const auto found = survey_.pods.find(pod.uid);
  policy::PodFacts out = found == survey_.pods.end() ? policy::PodFacts{} : found->second.facts;
  if (!cluster_) return out;
  // What the kubelet has granted; the spec of a resize is only a wish.
  const auto record = cluster_->pods().find(pod.nameSpace + "/" + pod.name);
  if (record == cluster_->pods().end() || record->second.pod.uid != pod.uid) return out;
  for (const auto& [name, bytes] : record->second.allocated) out.containers[name].allocatedRequest = bytes;
  return out;
}

void Agent::happenedTo(const std::string& uid, const std::string& container, std::string_view reason,
                       std::string message) {
  if (!cluster_) return;
  const auto pod = std::find_if(pods_.begin(), pods_.end(), [&](const policy::Pod& one) { return one.uid == uid; });
  if (pod == pods_.end()) return;
  report::Event event;
  event.reason = reason;
  event.severity = policy::Severity::warning;
  event.nameSpace = pod->nameSpace;
  event.pod = pod->name;
  event.uid = uid;
  event.container = container;
  event.message = std::move(message);
  cluster_->tell(event);
}

void Agent::happenedTo(cgroup::Id id, std::string_view reason, const std::string& message) {
  for (const auto& [uid, pod] : survey_.pods) {
    if (pod.cgroup && pod.cgroup->id() == id) return happenedTo(uid, "", reason, message);
    for (const auto& [name, handle] : pod.containers) {
      if (handle->id() == id) return happenedTo(uid, name, reason, message);
    }
  }
}

void Agent::addClusterCounts(report::Snapshot& out) const {
  if (!cluster_) return;
  for (const auto& [labels, count] : cluster_->requests()) {
    const auto& [verb, resource, code] = labels;
    out.apiRequests[{verb, resource, code}] += count;
  }
  out.watchRestarts = cluster_->restarts();
  out.dropped["api"] += cluster_->droppedEvents();
  if (!out.ready && !out.suspended && !cluster_->synced()) out.notReady = cluster_->notReady();
}

}  // namespace memqos::node
