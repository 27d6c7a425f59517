#include "node/reclaim_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "node/reclaim_sample.h"
#include "node/sample.h"

namespace memqos::node {
namespace {

using reclaim::State;

constexpr auto kStatDeadline = std::chrono::seconds(5);
constexpr std::size_t kLooksAtOnce = 32;
constexpr auto kRoundDeadline = std::chrono::seconds(1);
constexpr auto kJudgeEvery = std::chrono::seconds(5);
constexpr auto kLasting = std::chrono::seconds(10);  // a state is told once it has lasted

std::string whyOf(const reclaim::View& view) {
  switch (view.state) {
    case State::paused:
      return "paused: most of what was taken was wanted back at once";
    case State::unreclaimable:
      return "nothing can be taken from the container; it is tried again from time to time";
    case State::floorAboveMark:
      return fmt::format("what must be kept ({}) reaches the mark where reclaim would stop",
                         toHuman(view.floor.value_or(Bytes{0}).roundDown(kMiB)));
    case State::forbidden:
      return "only swap would help, and shared memory may hold secrets";
    default:
      return {};
  }
}

}  // namespace

ReclaimKeeper::ReclaimKeeper(loop::Loop& loop, loop::Lane& sampleLane, loop::Lane& reclaimLane,
                             const reclaim::Abilities& can, Callbacks callbacks)
    : loop_(loop), sampleLane_(sampleLane), reclaimLane_(reclaimLane), callbacks_(std::move(callbacks)), engine_(can) {}

void ReclaimKeeper::hold(const cgroup::Handle& cgroup, const cgroup::Handle& pod) {
  Held& held = held_[cgroup->id()];
  held.cgroup = cgroup;
  held.pod = pod;
  if (!held.current) {
    if (auto file = cgroup->open("memory.current", O_RDONLY)) held.current = std::move(*file);
  }
  if (!held.events) {
    if (auto file = cgroup->open("memory.events", O_RDONLY)) held.events = std::move(*file);
  }
}

void ReclaimKeeper::watch(ReclaimTargets targets) {
  targets_ = std::move(targets);
  byId_.clear();
  std::set<cgroup::Id> there;
  std::vector<reclaim::Wanted> wanted;
  const auto before = std::exchange(impossibleSince_, {});
  for (const ReclaimTarget& target : targets_.containers) {
    const cgroup::Id id = target.wanted.id;
    byId_[id] = &target;
    if (!target.why.empty()) impossibleSince_[id] = before.contains(id) ? before.at(id) : loop_.now();
    if (target.off || (target.wanted.how == reclaim::How::off && !target.wanted.cacheLimit)) continue;
    wanted.push_back(target.wanted);
    there.insert(target.wanted.id);
    hold(target.cgroup, target.pod);
  }
  for (const auto& [id, cgroup] : targets_.podCgroups) {
    there.insert(id);
    hold(cgroup, nullptr);
  }
  std::erase_if(held_, [&](const auto& item) { return !there.contains(item.first); });
  engine_.want(loop_.now(), wanted, targets_.pods);
  if (held_.empty()) {
    timer_.reset();
    timerAt_.reset();
  } else {
    pump();
  }
  judge();
}

void ReclaimKeeper::woken(cgroup::Id id) {
  if (!held_.contains(id)) return;
  engine_.wake(loop_.now(), id);
  pump();
}

void ReclaimKeeper::pump() {
  const loop::TimePoint now = loop_.now();
  for (const cgroup::Id id : engine_.due(now)) {
    const auto held = held_.find(id);
    if (held != held_.end()) pending_.usages.push_back({id, usageOf(held->second.current)});
  }
  const reclaim::Step step = engine_.step(now, std::exchange(pending_, {}));
  looks_.insert(looks_.end(), step.stats.begin(), step.stats.end());
  lookNext();
  for (const reclaim::Job& job : step.jobs) start(job);
  arm(step.wakeAt);
}

void ReclaimKeeper::arm(std::optional<loop::TimePoint> at) {
  if (!at) {
    timer_.reset();
    timerAt_.reset();
    return;
  }
  if (timer_ && timerAt_ == at) return;
  timerAt_ = at;
  timer_ = loop_.at(*at, [this] {
    timerAt_.reset();
    pump();
  });
}

// A few at a time: however many wait, a batch ends within its deadline.
void ReclaimKeeper::lookNext() {
  struct Looks {
    std::vector<cgroup::Id> ids;
    std::vector<std::pair<cgroup::Handle, cgroup::Handle>> cgroups;
    std::vector<reclaim::Stat> stats;
    reclaim::NodeStat node;
  };
  if (looking_ || looks_.empty()) return;
  auto looks = std::make_shared<Looks>();
  for (; !looks_.empty() && looks->ids.size() < kLooksAtOnce; looks_.pop_front()) {
    const auto held = held_.find(looks_.front());
    if (held == held_.end()) continue;
    looks->ids.push_back(held->first);
    looks->cgroups.emplace_back(held->second.cgroup, held->second.pod);
  }
  if (looks->ids.empty()) return;
  looking_ = sampleLane_.submit(
      kStatDeadline,
      [looks] {
        looks->node = nodeStat();
        // One at a time is what a busy container needs exact; a crowd of idle ones is not worth the flush.
        const bool flush = looks->cgroups.size() <= 4;
        for (const auto& [cgroup, pod] : looks->cgroups) looks->stats.push_back(slowLook(*cgroup, pod.get(), flush));
      },
      [this, looks, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        looking_ = false;
        if (outcome == loop::Lane::Outcome::lost) {
          pending_.lostStats.insert(pending_.lostStats.end(), looks->ids.begin(), looks->ids.end());
        } else {
          pending_.node = looks->node;
          for (reclaim::Stat& stat : looks->stats) stat.at = loop_.now();
          pending_.stats.insert(pending_.stats.end(), looks->stats.begin(), looks->stats.end());
        }
        pump();
      });
  if (looking_) return;
  callbacks_.dropped();
  pending_.lostStats.insert(pending_.lostStats.end(), looks->ids.begin(), looks->ids.end());
  pending_.lostStats.insert(pending_.lostStats.end(), looks_.begin(), looks_.end());
  looks_.clear();
}

void ReclaimKeeper::start(const reclaim::Job& job) {
  const auto held = held_.find(job.id);
  auto result = std::make_shared<reclaim::Done>();
  result->job = job;
  result->ran = false;
  const auto end = [this, alive = std::weak_ptr<bool>(alive_)](const reclaim::Done& done) {
    if (alive.expired()) return;
    for (const loop::Duration wall : done.writes) callbacks_.wrote(wall);
    pending_.done.push_back(done);
    pump();
  };
  const bool queued = held != held_.end() && reclaimLane_.submit(
                                                 kRoundDeadline,
                                                 [result, job, cgroup = held->second.cgroup] {
                                                   KernelHands hands(cgroup);
                                                   *result = reclaim::run(job, hands);
                                                 },
                                                 [end, result, job](loop::Lane::Outcome outcome) {
                                                   // A lost job's result is still being written.
                                                   reclaim::Done lost;
                                                   lost.job = job;
                                                   lost.ran = false;
                                                   end(outcome == loop::Lane::Outcome::lost ? lost : *result);
                                                 });
  if (queued) return;
  if (held != held_.end()) callbacks_.dropped();
  loop_.post([end, result] { end(*result); });
}

void ReclaimKeeper::judge() {
  judgeTimer_.reset();
  std::map<std::string, std::vector<const ReclaimTarget*>> pods;
  for (const ReclaimTarget& target : targets_.containers) pods[target.uid].push_back(&target);
  std::erase_if(told_, [&](const auto& item) { return !pods.contains(item.first); });
  const loop::TimePoint now = loop_.now();
  for (const auto& [uid, targets] : pods) {
    const std::vector<policy::Finding> findings = findingsOf(targets, now);
    const std::size_t before = std::exchange(told_[uid], findings.size());
    if (before + findings.size() > 0) callbacks_.tell(uid, findings);
  }
  if (!pods.empty()) judgeTimer_ = loop_.after(kJudgeEvery, [this] { judge(); });
}

std::vector<policy::Finding> ReclaimKeeper::findingsOf(const std::vector<const ReclaimTarget*>& targets,
                                                       loop::TimePoint now) const {
  std::vector<policy::Finding> out;
  for (const ReclaimTarget* one : targets) {
    const ReclaimTarget& target = *one;
    if (target.off) continue;  // of the node, which says it once
    policy::Finding finding;
    finding.uid = target.uid;
    finding.container = target.container;
    finding.key = target.wanted.how == reclaim::How::off && target.why.empty() ? "page-cache-limit" : "reclaim";
    finding.problem = target.why;
    finding.reason = policy::Reason::unsupported;
    if (!target.why.empty()) {
      // The runtime writes the limit of a container after it has made its cgroup.
      if (now - impossibleSince_.at(target.wanted.id) < kLasting) continue;
    } else {
      const auto view = engine_.view(target.wanted.id);
      if (!view || now - view->since < kLasting) continue;
      finding.problem = whyOf(*view);
      finding.reason = view->state == State::floorAboveMark ? policy::Reason::floorAboveMark
                       : view->state == State::forbidden    ? policy::Reason::unsupported
                                                            : policy::Reason::unreclaimable;
      // The amounts of a heap change all the time; the finding stays.
      if (view->state == State::floorAboveMark) finding.problem = "what must be kept reaches the mark of reclaim";
    }
    if (!finding.problem.empty()) out.push_back(std::move(finding));
  }
  return out;
}

std::optional<report::ReclaimState> ReclaimKeeper::state(cgroup::Id id) const {
  const auto target = byId_.find(id);
  if (target == byId_.end()) return std::nullopt;
  report::ReclaimState out;
  out.why = target->second->why;
  const auto view = engine_.view(id);
  if (!view) return out;
  if (out.why.empty()) out.why = whyOf(*view);
  out.state = std::string(reclaim::name(view->state));
  out.trims = view->trims;
  if (view->marks)
    out.marks = {{"start", view->marks->start}, {"stop", view->marks->stop}, {"urgent", view->marks->urgent}};
  out.requested = view->counters.requested;
  out.reclaimed = view->counters.reclaimed;
  for (const auto& [labels, count] : view->counters.writes)
    out.writes[{std::string(labels.first), std::string(labels.second)}] = count;
  out.cacheMapped = view->cacheMapped;
  out.cacheUnmapped = view->cacheUnmapped;
  out.cacheLimit = view->cacheLimit;
  if (view->refaultPages) out.refaulted = Bytes{*view->refaultPages * kPage.count};
  return out;
}

}  // namespace memqos::node
