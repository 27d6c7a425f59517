// What the agent sees and says: results of writes, samples, and the snapshot that everything shown is made of.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "node/agent.h"
#include "node/state.h"

namespace memqos::node {
namespace {

constexpr auto kSampleDeadline = std::chrono::seconds(5);
constexpr auto kSnapshotAge = std::chrono::seconds(1);

}  // namespace

control::Controller::Callbacks Agent::controllerCallbacks() {
  control::Controller::Callbacks out;
  out.applied = [this](const control::Applied& applied) {
    const bool attempt = applied.outcome != control::Outcome::same && applied.outcome != control::Outcome::tooClose;
    if (!attempt) return;
    const std::string file = cgroup::name(applied.key.file);
    ++counters_.controlWrites[{file, std::string(control::name(applied.outcome))}];
    if (applied.outcome == control::Outcome::written) {
      log::info(applied.restore ? "restored" : "written", {{"cgroup", applied.path},
                                                           {"file", file},
                                                           {"from", toText(applied.before.value_or(Limit()))},
                                                           {"to", toText(applied.asked)}});
    } else if (applied.outcome != control::Outcome::gone) {
      log::warning("not written", {{"cgroup", applied.path},
                                   {"file", file},
                                   {"result", control::name(applied.outcome)},
                                   {"error", applied.error}});
    }
  };
  out.latency = [this](const std::string& trigger, loop::Duration time) { exposition_.observeApply(trigger, time); };
  out.drifted = [this](const control::FileEntry& entry, bool kubelet) {
    const std::string file = cgroup::name(entry.file);
    ++counters_.drift[file];
    const std::string writer = kubelet ? "kubelet" : "unknown";
    // The kubelet's rewrites of a slice come every minute: expected, counted, no news.
    log::write(kubelet ? log::Level::debug : log::Level::warning, "somebody else wrote a held file",
               {{"cgroup", entry.cgroup->path()},
                {"file", file},
                {"value", toText(entry.current.value_or(Limit()))},
                {"writer", writer}});
  };
  out.stalled = [this](const control::FileEntry& entry) {
    happenedTo(entry.cgroup->id(), "HighNotReached",
               fmt::format("memory.high {} is not reached: usage does not go down, it stays at {}",
                           toText(entry.wanted.value_or(Limit::max())), toText(entry.current.value_or(Limit::max()))));
    log::warning("memory.high is not reached: usage does not go down",
                 {{"reason", "HighNotReached"},
                  {"cgroup", entry.cgroup->path()},
                  {"wanted", toText(entry.wanted.value_or(Limit::max()))},
                  {"current", toText(entry.current.value_or(Limit::max()))}});
  };
  out.escaped = [this](const control::FileEntry& entry, Limit to) {
    happenedTo(entry.cgroup->id(), "ThrottleEscape",
               fmt::format("throttled by memory.high without getting out of it: raised to {}", toText(to)));
    log::warning("the container is throttled by memory.high: raised",
                 {{"reason", "ThrottleEscape"}, {"cgroup", entry.cgroup->path()}, {"to", toText(to)}});
  };
  out.replan = [this] { requestSurvey("plan"); };
  return out;
}

ValveKeeper::Callbacks Agent::valveCallbacks() {
  const auto who = [this](const std::string& uid) -> std::string {
    if (uid.empty()) return "node";
    const auto plan =
        std::find_if(plans_.begin(), plans_.end(), [&](const policy::PodPlan& one) { return one.uid == uid; });
    return plan == plans_.end() ? uid : plan->nameSpace + "/" + plan->name;
  };
  return {[this] {
            if (!suspended_ && !stopping_) apply("valve");
          },
          [this, who](const std::string& uid, const std::string& reason) {
            happenedTo(uid, "", "LowValveOpened", "memory.low is let go for now: " + reason);
            log::warning("memory.low is let go: it is no longer held as memory.min",
                         {{"reason", "LowValveOpened"}, {"of", who(uid)}, {"because", reason}});
          },
          [who](const std::string& uid) {
            log::info("memory.low is held again", {{"of", who(uid)}});
          }};
}

void Agent::takeSample() {
  if (sampling_ || stopping_) return;
  std::vector<cgroup::Handle> cgroups;
  for (const auto& [uid, pod] : survey_.pods) {
    for (const auto& [name, handle] : pod.containers) cgroups.push_back(handle);
  }
  if (cgroups.empty()) return;
  auto result = std::make_shared<std::vector<Sample>>();
  sampling_ = sampleLane_->submit(
      kSampleDeadline, [cgroups = std::move(cgroups), sampler = sampler_, result] { *result = sampler->take(cgroups); },
      [this, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        sampling_ = false;
        if (outcome == loop::Lane::Outcome::done) sampled(*result);
      });
  if (!sampling_) ++counters_.dropped["sample"];
}

void Agent::sampled(const std::vector<Sample>& samples) {
  samples_.clear();
  bool gone = false;
  std::map<cgroup::Id, Limit> limits;
  for (const auto& [uid, pod] : survey_.pods) {
    for (const auto& [name, handle] : pod.containers) {
      const auto facts = pod.facts.containers.find(name);
      limits[handle->id()] =
          facts == pod.facts.containers.end() ? Limit::max() : facts->second.limit.value_or(Limit::max());
    }
  }
  for (const Sample& sample : samples) {
    samples_[sample.id] = sample;
    gone = gone || sample.gone;
    if (sample.gone) controller_->gone(sample.id);
    if (sample.gone || !sample.usage || !sample.events || !sample.pressure) continue;
    control::HighSample high;
    high.usage = *sample.usage;
    high.highEvents = sample.events->high;
    high.fullTotal = sample.pressure->full;
    if (const auto limit = limits.find(sample.id); limit != limits.end()) high.limit = limit->second;
    controller_->sampled(sample.id, high);
  }
  if (!gone) return;
  happened_.everything = true;
  requestSurvey("created");
}

std::shared_ptr<const report::Snapshot> Agent::snapshot() {
  const loop::TimePoint now = loop_.now();
  if (lastSnapshot_ && now - lastSnapshotAt_ < kSnapshotAge) return lastSnapshot_;
  return freshSnapshot();
}

std::shared_ptr<const report::Snapshot> Agent::freshSnapshot() {
  auto out = std::make_shared<report::Snapshot>(counters_);
  StateInput input{controller_->files(), survey_, samples_};
  input.programmable = ground_.hierarchy.version == 2;
  input.qosSlicesManaged = config_.qosSlices == config::QosSlices::manage;
  input.reclaim = [this](cgroup::Id id) { return reclaim_->state(id); };
  input.lowNeedsHold = cgroup::has(ground_.features, "mglru");
  for (const policy::PodPlan& plan : plans_) {
    if (valves_->watches(plan.uid)) input.lowValves[plan.uid] = valves_->open(plan.uid);
  }
  const auto effective = effectiveOf(input);
  for (const policy::PodPlan& plan : plans_) {
    out->pods.push_back(podState(plan, input, effective));
    const report::PodState& pod = out->pods.back();
    const bool waiting = std::any_of(pod.containers.begin(), pod.containers.end(),
                                     [](const auto& container) { return container.cgroup.empty(); });
    ++out->podsByState[!plan.managed ? "opted_out" : plan.empty() ? "unmanaged" : waiting ? "waiting" : "managed"];
    if (plan.empty()) continue;
    for (const report::ContainerState& container : pod.containers)
      ++out->containersByState[container.cgroup.empty() ? "waiting" : "programmed"];
  }
  out->features = ground_.features;
  out->dropped["events"] = events_.held();
  for (const auto* lane : {controlLane_.get(), reclaimLane_.get(), sampleLane_.get(), reclaimSampleLane_.get()})
    out->dropped["jobs"] += lane->stats().dropped;
  out->suspended = suspended_;
  out->ready = applied_ && !suspended_;
  if (!out->ready)
    out->notReady =
        suspended_ ? "restored on request: suspended until the next start" : "the first plan is not applied yet";
  addClusterCounts(*out);
  lastSnapshot_ = out;
  lastSnapshotAt_ = loop_.now();
  return out;
}

}  // namespace memqos::node
