// From pods to targets: survey, plan, merge, and the watches that go with them.
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "control/merge.h"
#include "node/agent.h"

namespace memqos::node {
namespace {

constexpr auto kSurveyDeadline = std::chrono::seconds(5);

SurveyRequest::Pod surveyRequest(const policy::Pod& pod) {
  SurveyRequest::Pod out;
  out.uid = pod.uid;
  const policy::CgroupKeys keys = policy::cgroupKeys(pod);
  if (keys.pod) out.keys.pod = {keys.pod->key, keys.pod->value};
  for (const auto& [name, key] : keys.containers) out.keys.containers[name] = {key.key, key.value};
  for (const policy::Container& container : pod.containers) out.keys.names.push_back(container.name);
  return out;
}

policy::Finding pathFinding(const policy::Pod& pod, const cgroup::PathProblem& problem) {
  policy::Finding out;
  out.reason = policy::Reason::invalidAnnotation;
  out.nameSpace = pod.nameSpace;
  out.pod = pod.name;
  out.uid = pod.uid;
  out.container = problem.container;
  out.key = problem.key;
  out.value = problem.value.substr(0, 256);
  out.problem = problem.problem;
  out.advice = problem.advice;
  out.source = pod.source;
  for (const policy::Annotation& annotation : pod.annotations) {
    if (annotation.key == problem.key) out.source.position = annotation.position;
  }
  return out;
}

// Has a low that has to be held as min where the kernel does not make it real.
bool wantsLow(const policy::PodPlan& plan) {
  return std::any_of(plan.containers.begin(), plan.containers.end(), [](const policy::ContainerPlan& container) {
    return container.wantedLimit(policy::Knob::memoryLow).value_or(Limit()) >
           container.wantedLimit(policy::Knob::memoryMin).value_or(Limit());
  });
}

}  // namespace

void Agent::requestSurvey(const std::string& trigger) {
  // Before the first list a plan would be empty, and put back what the last run left in the kernel.
  if (suspended_ || stopping_ || !podsKnown_) return;
  if (surveyTrigger_.empty()) surveyTrigger_ = trigger;
  if (surveying_) {
    surveyAgain_ = true;
    return;
  }
  surveying_ = true;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) takeSurvey();
  });
}

void Agent::takeSurvey() {
  SurveyRequest request = std::exchange(happened_, {});
  happened_.everything = false;
  request.cgroupRoot = config_.cgroupRoot;
  request.cluster = clusterView();
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    // A pod that asks for nothing costs nothing: it is not even looked for.
    if (!asks(pods_[i])) continue;
    request.pods.push_back(surveyRequest(pods_[i]));
    if (request.cluster) request.pods.back().inCluster = i;
  }
  auto result = std::make_shared<Survey>();
  const bool queued = controlLane_->submit(
      kSurveyDeadline,
      [request = std::move(request), root = ground_.root, writer = ground_.writer, cache = surveyCache_, result] {
        *result = survey(request, *root, *writer, *cache);
      },
      [this, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        surveying_ = false;
        if (outcome == loop::Lane::Outcome::lost) {
          happened_.everything = true;
          requestSurvey("plan");
          return;
        }
        surveyed(std::move(*result));
      });
  if (!queued) {
    surveying_ = false;
    happened_.everything = true;
    ++counters_.dropped["survey"];
  }
}

void Agent::surveyed(Survey survey) {
  if (suspended_ || stopping_) return;
  survey_ = std::move(survey);
  planPods();
  watchTree();
  const std::string trigger = std::exchange(surveyTrigger_, {});
  apply(trigger.empty() ? "plan" : trigger);
  if (std::exchange(surveyAgain_, false)) requestSurvey("created");
}

bool Agent::setPods(std::vector<policy::Pod> pods) {
  podsKnown_ = true;
  std::map<std::string, const policy::Pod*> now;
  for (const policy::Pod& pod : pods) now[pod.uid] = &pod;
  std::size_t stayed = 0;
  for (const policy::Pod& pod : pods_) {
    const auto same = now.find(pod.uid);
    if (same != now.end()) ++stayed;
    if (same != now.end() && *same->second == pod) continue;
    asks_.erase(pod.uid);
    plannedFor_.erase(pod.uid);
    if (same != now.end()) continue;
    events_.forget(pod.uid);
    events_.forget(pod.uid + "/reclaim");
  }
  const bool others = stayed != pods_.size() || stayed != now.size();
  pods_ = std::move(pods);
  return others;
}

void Agent::forgetPlans() {
  asks_.clear();
  plannedFor_.clear();
}

bool Agent::asks(const policy::Pod& pod) {
  const auto [known, isNew] = asks_.try_emplace(pod.uid);
  if (isNew) known->second = !policy::plan(pod, {}, ground_.facts, config_.policy).empty();
  return known->second;
}

// A plan whose pod, facts and settings are as they were stays.
void Agent::planPods() {
  std::map<std::string, policy::PodPlan> before;
  for (policy::PodPlan& plan : plans_) before.emplace(plan.uid, std::move(plan));
  plans_.clear();
  for (const policy::Pod& pod : pods_) {
    policy::PodFacts facts = factsOf(pod);
    const auto known = plannedFor_.find(pod.uid);
    const auto old = before.find(pod.uid);
    if (known != plannedFor_.end() && old != before.end() && known->second == facts) {
      plans_.push_back(std::move(old->second));
    } else {
      plans_.push_back(policy::plan(pod, facts, ground_.facts, config_.policy));
      plannedFor_[pod.uid] = std::move(facts);
    }
    policy::PodPlan& plan = plans_.back();
    const auto found = survey_.pods.find(pod.uid);
    if (found != survey_.pods.end() && !found->second.problems.empty()) {
      for (const cgroup::PathProblem& problem : found->second.problems)
        plan.findings.push_back(pathFinding(pod, problem));
      plannedFor_.erase(pod.uid);  // these findings are not the plan's own
    }
    tell(pod.uid, plan.findings);
  }
}

void Agent::apply(const std::string& trigger) {
  if (ground_.hierarchy.version != 2) {
    applied_ = true;
    watchReclaim();  // says that it is not supported
    return;
  }
  control::MergeInput input;
  input.holdAncestors = config_.qosSlices == config::QosSlices::manage;
  input.holdLow = holdsLow();
  input.allocatable = ground_.facts.allocatable;
  input.shareMin = config_.policy.guardrails.maxShareMin;
  input.shareLow = config_.policy.guardrails.maxShareLow;
  for (const policy::PodPlan& plan : plans_) {
    const auto found = survey_.pods.find(plan.uid);
    if (found == survey_.pods.end() || plan.empty()) continue;
    control::MergePod pod;
    pod.cgroup = found->second.cgroup;
    pod.inKubepods = found->second.inKubepods;
    pod.limit = found->second.facts.podLimit.value_or(Limit::max());
    pod.valveOpen = valves_->open(plan.uid);
    pod.sandboxed = plan.sandboxed;
    for (const policy::ContainerPlan& container : plan.containers) {
      const auto cgroup = found->second.containers.find(container.name);
      pod.containers.push_back({container, cgroup == found->second.containers.end() ? nullptr : cgroup->second});
    }
    input.pods.push_back(std::move(pod));
  }
  for (const auto& [path, ancestor] : survey_.ancestors) {
    if (!ancestor.inKubepods) continue;
    const auto baseline = [&](cgroup::File file, Bytes surveyedValue) {
      const control::FileEntry* entry = controller_->find(ancestor.cgroup->id(), file);
      return entry != nullptr && entry->baseline ? entry->baseline->bytes() : surveyedValue;
    };
    input.ancestors.push_back({ancestor.cgroup,
                               {baseline(cgroup::File::memoryMin, ancestor.baseline.min),
                                baseline(cgroup::File::memoryLow, ancestor.baseline.low)},
                               ancestor.outside});
  }
  controller_->setTargets(control::merge(input), trigger);
  watchValves();
  watchReclaim();
  applied_ = true;
}

// memory.low is real by itself only on the classic LRU; where it is not, it is held - unless nobody could let go of it.
bool Agent::holdsLow() const {
  return config_.lowOnMglru == config::LowOnMglru::hold && cgroup::has(ground_.features, "mglru") &&
         ground_.writer->watched();
}

void Agent::watchValves() {
  std::map<std::string, std::vector<HeldLow>> pods;
  std::map<cgroup::Id, std::string> events;
  for (const policy::PodPlan& plan : plans_) {
    const auto found = survey_.pods.find(plan.uid);
    if (!holdsLow() || found == survey_.pods.end() || !wantsLow(plan)) continue;
    for (const auto& [name, handle] : found->second.containers) {
      const control::FileEntry* min = controller_->find(handle->id(), cgroup::File::memoryMin);
      if (min != nullptr && min->held) pods[plan.uid].push_back({handle, min->wanted.value_or(Limit()).bytes()});
    }
    pods.try_emplace(plan.uid);
    if (found->second.cgroup) {
      events[found->second.cgroup->id()] = plan.uid;
    } else {
      for (const auto& [name, handle] : found->second.containers) events[handle->id()] = plan.uid;
    }
  }
  valves_->watch(pods);
  // The kernel reports a change of memory.events only while somebody holds the file open.
  std::erase_if(valveEvents_, [&](const auto& item) { return !events.contains(item.first); });
  for (const auto& [id, uid] : events) {
    ValveEvents& item = valveEvents_[id];
    item.pod = uid;
    if (item.file || !watched_.contains(id)) continue;
    if (auto file = watched_.at(id)->open("memory.events", O_RDONLY)) item.file = std::move(*file);
    readValveEvents(id);
  }
}

void Agent::readValveEvents(cgroup::Id id) {
  const auto item = valveEvents_.find(id);
  const auto handle = watched_.find(id);
  if (item == valveEvents_.end() || handle == watched_.end()) return;
  auto result = std::make_shared<std::optional<std::int64_t>>();
  sampleLane_->submit(
      kSurveyDeadline,
      [cgroup = handle->second, result] {
        const auto text = cgroup->read("memory.events");
        if (!text) return;
        if (const auto events = cgroup::parseMemoryEvents(*text)) *result = events->max;
      },
      [this, pod = item->second.pod, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (!alive.expired() && outcome != loop::Lane::Outcome::lost && *result) valves_->podMaxEvents(pod, **result);
      });
}

void Agent::watchTree() {
  std::map<cgroup::Id, cgroup::Handle> wanted;
  const auto want = [&](const cgroup::Handle& handle) {
    if (handle) wanted[handle->id()] = handle;
  };
  for (const auto& [uid, pod] : survey_.pods) {
    want(pod.cgroup);
    for (const auto& [name, handle] : pod.containers) want(handle);
  }
  for (const auto& [path, ancestor] : survey_.ancestors) want(ancestor.cgroup);
  for (const cgroup::Handle& handle : survey_.waitingAt) want(handle);
  for (const auto& [id, handle] : watched_) {
    if (!wanted.contains(id)) watcher_->remove(id);
  }
  for (auto& [id, handle] : wanted) {
    if (watched_.contains(id)) continue;
    if (auto status = watcher_->add(*handle); !status) {
      log::warning("a cgroup is not watched", {{"cgroup", handle->path()}, {"error", status.error().text()}});
      ++counters_.dropped["watch"];
      continue;
    }
    // What happened between the look and the watch was not seen: look once more.
    happened_.unwatched.insert(id);
    surveyAgain_ = true;
  }
  watched_ = std::move(wanted);
}

void Agent::treeEvent(const cgroup::Event& event) {
  switch (event.kind) {
    case cgroup::Event::Kind::modified:
      if (event.name == "memory.events") {
        reclaim_->woken(event.cgroup);
        return readValveEvents(event.cgroup);
      }
      controller_->modified(event.cgroup, event.name);
      happened_.written.insert(event.cgroup);
      // A cgroup above that memqos does not hold decides all the same what protection is worth.
      if (event.name == "memory.max" || ((event.name == "memory.min" || event.name == "memory.low") &&
                                         controller_->find(event.cgroup, *cgroup::findFile(event.name)) == nullptr)) {
        requestSurvey("plan");
      }
      return;
    case cgroup::Event::Kind::created:
    case cgroup::Event::Kind::removed:
      happened_.children.emplace(event.cgroup, event.name);
      requestSurvey("created");
      return;
    case cgroup::Event::Kind::gone:
      controller_->gone(event.cgroup);
      watched_.erase(event.cgroup);
      happened_.everything = true;
      requestSurvey("created");
      return;
  }
}

}  // namespace memqos::node
