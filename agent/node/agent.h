// The state of the daemon and its pump; one per process, on the loop's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cgroup/discovery.h"
#include "cgroup/features.h"
#include "cgroup/watch.h"
#include "config/config.h"
#include "config/manifests.h"
#include "control/controller.h"
#include "kube/cluster.h"
#include "loop/lane.h"
#include "loop/loop.h"
#include "metrics/exposition.h"
#include "node/folder_watch.h"
#include "node/node.h"
#include "node/reclaim_keeper.h"
#include "node/sample.h"
#include "node/survey.h"
#include "node/valve_keeper.h"
#include "report/events.h"
#include "report/snapshot.h"

namespace memqos::node {

// What the agent stands on: found or taken once at start.
struct Ground {
  cgroup::Hierarchy hierarchy;
  std::shared_ptr<const cgroup::Root> root;
  std::vector<cgroup::Feature> features;
  policy::NodeFacts facts;
  std::shared_ptr<control::Writer> writer;
  std::shared_ptr<kube::Transport> transport;  // to the API server; null: standalone
};

class Agent {
 public:
  Agent(const Options& options, config::Config config, Ground ground, loop::Loop& loop,
        metrics::Exposition& exposition);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  // Opens the watches and begins. Errors: io, gone (no manifest folder).
  Status start();
  // Puts back what must not stay, then stops the loop with 0.
  void stop();
  // Puts everything back; nothing is written afterwards until the next start.
  void restoreAll(std::function<void(std::vector<control::Applied>)> done);
  // Reads configuration and manifests again.
  void reload();
  // Built on demand, at most once a second: a scrape costs no kernel read.
  std::shared_ptr<const report::Snapshot> snapshot();
  std::shared_ptr<const report::Snapshot> freshSnapshot();

 private:
  control::Controller::Callbacks controllerCallbacks();
  ValveKeeper::Callbacks valveCallbacks();
  ReclaimKeeper::Callbacks reclaimCallbacks();
  void watchReclaim();
  void reloadConfig();
  void completeConfig();
  void reloadPods();
  void startCluster();
  void clusterPods();
  [[nodiscard]] std::shared_ptr<const ClusterView> clusterView() const;
  [[nodiscard]] policy::PodFacts factsOf(const policy::Pod& pod) const;
  void addClusterCounts(report::Snapshot& out) const;
  // In a cluster an Event beside the log record: about a pod, or the pod or container of a cgroup.
  void happenedTo(const std::string& uid, const std::string& container, std::string_view reason, std::string message);
  void happenedTo(cgroup::Id id, std::string_view reason, const std::string& message);
  void finishAll(bool everything);
  void requestSurvey(const std::string& trigger);
  void takeSurvey();
  void surveyed(Survey survey);
  bool setPods(std::vector<policy::Pod> pods);  // are there others now?
  void forgetPlans();                           // settings or the node changed
  [[nodiscard]] bool asks(const policy::Pod& pod);
  void planPods();
  void apply(const std::string& trigger);
  [[nodiscard]] bool holdsLow() const;
  void watchValves();
  void readValveEvents(cgroup::Id id);
  void watchTree();
  void treeEvent(const cgroup::Event& event);
  void takeSample();
  void sampled(const std::vector<Sample>& samples);
  void tell(const std::string& subject, const std::vector<policy::Finding>& findings);
  void adoptJournal();
  [[nodiscard]] std::vector<policy::Finding> findingsOf(const policy::Pod& pod) const;

  const Options options_;
  config::Config config_;
  Ground ground_;
  loop::Loop& loop_;
  metrics::Exposition& exposition_;
  std::unique_ptr<loop::Lane> controlLane_, reclaimLane_, sampleLane_, reclaimSampleLane_;
  std::unique_ptr<control::Controller> controller_;
  std::unique_ptr<cgroup::DirectoryWatcher> watcher_;
  std::unique_ptr<FolderWatch> podsWatch_, configWatch_;
  std::unique_ptr<ValveKeeper> valves_;
  std::unique_ptr<ReclaimKeeper> reclaim_;
  std::string isolatedCpus_;  // as the kernel lists them; empty: none
  std::string reclaimOffSaid_;
  struct ValveEvents {
    std::string pod;  // UID
    Fd file;          // memory.events, held so that the kernel reports its changes
  };
  std::map<cgroup::Id, ValveEvents> valveEvents_;
  std::shared_ptr<SurveyCache> surveyCache_ = std::make_shared<SurveyCache>();  // the control lane's, once it runs
  SurveyRequest happened_;                                                      // in the tree since the last survey
  std::shared_ptr<Sampler> sampler_ = std::make_shared<Sampler>();              // the sample lane's
  config::FolderCache manifests_;
  std::unique_ptr<kube::Cluster> cluster_;  // null: standalone
  loop::Handle stopTimer_;
  report::EventFilter events_;

  std::vector<policy::Pod> pods_;
  std::vector<policy::PodPlan> plans_;  // beside pods_
  // By UID, gone where the pod changed: whether it asks for anything, and what its plan was made from.
  std::map<std::string, bool> asks_;
  std::map<std::string, policy::PodFacts> plannedFor_;
  Survey survey_;
  std::map<cgroup::Id, Sample> samples_;
  std::map<cgroup::Id, cgroup::Handle> watched_;

  bool surveying_ = false;
  bool surveyAgain_ = false;
  std::string surveyTrigger_;
  bool sampling_ = false;
  bool podsKnown_ = false;  // before that, nothing may be taken for not wanted
  bool applied_ = false;
  bool suspended_ = false;
  bool stopping_ = false;
  bool finishing_ = false;
  loop::Handle sampleTimer_;
  report::Snapshot counters_;  // only its counters are used
  std::shared_ptr<const report::Snapshot> lastSnapshot_;
  loop::TimePoint lastSnapshotAt_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::node
