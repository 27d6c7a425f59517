#include "node/agent.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "node/reclaim_sample.h"
#include "proc/processes.h"

namespace memqos::node {
namespace {

constexpr auto kSamplePeriod = std::chrono::seconds(5);
constexpr unsigned kReclaimThreads = 2;
constexpr auto kForgetDeadline = std::chrono::seconds(5);
constexpr auto kUninstallLimit = std::chrono::seconds(20);

// Empty: koordlet does not run here.
std::string koordletEvidence() {
  const auto found = proc::findHostProcess("koordlet");
  if (!found) {
    log::warning("cannot look for koordlet", {{"error", found.error().text()}});
    return "";
  }
  return *found ? "koordlet runs on this node (process " + std::to_string(**found) + ")" : "";
}

reclaim::Abilities reclaimAbilities(const std::vector<cgroup::Feature>& features) {
  const long cpus = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  return {cgroup::has(features, "swappiness-argument"),
          cgroup::has(features, "swappiness-max-argument"),
          scale(kPage, 64 * cpus, 1),
          kReclaimThreads,
          cgroup::has(features, "mglru"),
          scale(largestReadAhead(), 2, 1)};
}

}  // namespace

Agent::Agent(const Options& options, config::Config config, Ground ground, loop::Loop& loop,
             metrics::Exposition& exposition)
    : options_(options), config_(std::move(config)), ground_(std::move(ground)), loop_(loop), exposition_(exposition) {
  completeConfig();
  controlLane_ = loop::makeLane(loop_, "control");
  reclaimLane_ = loop::makeLane(loop_, "reclaim", kReclaimThreads);
  sampleLane_ = loop::makeLane(loop_, "sample", 1, 16);
  controller_ =
      std::make_unique<control::Controller>(loop_, *controlLane_, *reclaimLane_, ground_.writer,
                                            !cgroup::lacks(ground_.features, "memory.reclaim"), controllerCallbacks());
  valves_ = std::make_unique<ValveKeeper>(loop_, *sampleLane_, valveCallbacks());
  reclaimSampleLane_ = loop::makeLane(loop_, "reclaim-stat", 1, 64);
  isolatedCpus_ = isolatedCpus();
  reclaim_ = std::make_unique<ReclaimKeeper>(loop_, *reclaimSampleLane_, *reclaimLane_,
                                             reclaimAbilities(ground_.features), reclaimCallbacks());
}

Agent::~Agent() = default;

Status Agent::start() {
  auto watcher = cgroup::DirectoryWatcher::create(loop_, {[this](const cgroup::Event& event) { treeEvent(event); },
                                                          [this] {
                                                            ++counters_.dropped["inotify"];
                                                            for (const auto& [id, handle] : watched_) {
                                                              for (const cgroup::File file : cgroup::kFiles)
                                                                controller_->modified(id, cgroup::name(file));
                                                            }
                                                            happened_.everything = true;
                                                            requestSurvey("created");
                                                          }});
  if (!watcher) return tl::unexpected(std::move(watcher.error()));
  watcher_ = std::move(*watcher);
  if (!options_.inCluster()) {
    auto pods = FolderWatch::create(loop_, options_.podsDir, [this] { reloadPods(); });
    if (!pods) return tl::unexpected(std::move(pods.error()));
    podsWatch_ = std::move(*pods);
  }
  auto config = FolderWatch::create(loop_, options_.configDir, [this] { reloadConfig(); });
  if (config) {
    configWatch_ = std::move(*config);
  } else {
    log::warning("the configuration is not watched", {{"error", config.error().text()}});
  }
  adoptJournal();
  if (options_.inCluster()) {
    startCluster();
  } else {
    reloadPods();
  }
  sampleTimer_ = loop_.every(kSamplePeriod, [this] { takeSample(); });
  return {};
}

// Files that an earlier run changed: the first plan decides which of them are still wanted.
void Agent::adoptJournal() {
  for (const auto& [key, entry] : ground_.writer->journal().entries()) {
    auto cgroup = ground_.root->find(entry.path);
    if (cgroup && (*cgroup)->id() == key.id) {
      controller_->adopt(*cgroup, key.file);
    } else {
      controlLane_->submit(
          kForgetDeadline, [writer = ground_.writer, id = key.id] { writer->forget(id); }, [](loop::Lane::Outcome) {});
    }
  }
}

void Agent::reload() {
  reloadConfig();
  if (!options_.inCluster()) reloadPods();
}

void Agent::reloadConfig() {
  auto loaded = config::load(options_.configDir, options_.configMayBeMissing);
  if (!loaded) {
    log::error("the configuration is not read; the last good one stays",
               {{"reason", "InvalidConfiguration"}, {"error", loaded.error().text()}});
    return;
  }
  tell("configuration", loaded->findings);
  const bool bad = std::any_of(loaded->findings.begin(), loaded->findings.end(), [](const policy::Finding& finding) {
    return policy::severityOf(finding.reason) == policy::Severity::error;
  });
  if (bad) return;
  const std::string cgroupRoot = config_.cgroupRoot;
  config_ = std::move(loaded->config);
  config_.cgroupRoot = cgroupRoot;  // what may be touched is fixed at start
  completeConfig();
  forgetPlans();
  log::info("configuration read");
  requestSurvey("plan");
}

// What the folder cannot know.
void Agent::completeConfig() {
  config_.policy.cgroupKeysAllowed = !options_.inCluster();
  policy::DialectSettings& dialects = config_.policy.dialects;
  if (!dialects.koordinator) return;
  dialects.koordletEvidence = koordletEvidence();
  if (dialects.koordletEvidence.empty()) return;
  log::warning("dialects.koordinator is on, and koordlet is here: its annotations are left to it",
               {{"reason", "Unsupported"}, {"evidence", dialects.koordletEvidence}});
}

void Agent::reloadPods() {
  auto manifests = config::readFolder(options_.podsDir, &manifests_);
  if (!manifests) {
    log::error("the manifests are not read; the pods stay as they are", {{"error", manifests.error().text()}});
    return;
  }
  tell("manifests", manifests->findings);
  std::set<std::string> there;
  for (const policy::Pod& pod : manifests->pods) there.insert(pod.uid);
  // A manifest that cannot be read just now must not cost its pods what they have: a broken file keeps its pods.
  std::set<std::string> broken;
  for (const policy::Finding& finding : manifests->findings) {
    if (finding.reason == policy::Reason::invalidManifest) broken.insert(finding.source.file);
  }
  std::vector<policy::Pod> kept;
  for (const policy::Pod& pod : pods_) {
    if (!there.contains(pod.uid) && broken.contains(pod.source.file)) kept.push_back(pod);
  }
  manifests->pods.insert(manifests->pods.end(), kept.begin(), kept.end());
  setPods(std::move(manifests->pods));
  requestSurvey("plan");
}

void Agent::tell(const std::string& subject, const std::vector<policy::Finding>& findings) {
  // Counted when told: a finding that stands is one error, however often its pod is planned.
  for (const report::Event& event : events_.update(subject, findings, std::chrono::steady_clock::now())) {
    ++counters_.annotationErrors[event.reason];
    report::writeLog(event);
    if (cluster_ && !event.uid.empty()) cluster_->tell(event);
  }
}

void Agent::restoreAll(std::function<void(std::vector<control::Applied>)> done) {
  suspended_ = true;
  reclaim_->watch({});
  controller_->finish(control::Controller::Scope::everything,
                      [this, done = std::move(done)](std::vector<control::Applied> applied) {
                        log::info("restored on request; nothing is written until the next start");
                        lastSnapshot_.reset();
                        done(std::move(applied));
                      });
}

void Agent::stop() {
  if (std::exchange(stopping_, true)) return;
  reclaim_->watch({});
  const bool always = config_.restoreOnExit == config::RestoreOnExit::always;
  if (!cluster_ || always || config_.restoreOnExit == config::RestoreOnExit::never) return finishAll(always);
  // An uninstall takes everything along, an update nothing. Whoever waits for us must not wait for the API server.
  stopTimer_ = loop_.after(kUninstallLimit, [this] { finishAll(false); });
  cluster_->askUninstalled([this](bool uninstalled) {
    stopTimer_.reset();
    finishAll(uninstalled);
  });
}

void Agent::finishAll(bool everything) {
  if (std::exchange(finishing_, true)) return;
  log::info("stopping", {{"restore", everything ? "everything" : "memory.high"}});
  controller_->finish(everything ? control::Controller::Scope::everything : control::Controller::Scope::unwatched,
                      [this](const std::vector<control::Applied>&) { loop_.stop(0); });
}

}  // namespace memqos::node
