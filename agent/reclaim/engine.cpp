#include "reclaim/engine.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr auto kPodStat = 500ms;
constexpr Duration kCacheLook = 200ms;
// One look costs 4 us (make bench-reclaim): the looks at all idle page caches together, half a percent of a core.
constexpr Duration kCacheLookShare = 1ms;
constexpr int kMostUrgentInARow = 3;  // then somebody else has a turn

// Who can wait waits for company: one wake-up serves many.
TimePoint together(TimePoint now, TimePoint at) {
  if (at - now < kCacheLook) return at;
  const Duration grid = at - now < 1s ? 50ms : 250ms;
  return TimePoint((at.time_since_epoch() + grid - Duration(1)) / grid * grid);
}

}  // namespace

void Engine::schedule(TimePoint& dueAt, cgroup::Id id, TimePoint at) {
  queue_.erase({dueAt, id});
  dueAt = at;
  queue_.emplace(at, id);
}

void Engine::forget(cgroup::Id id) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  queue_.erase({found->second.dueAt, id});
  ready_.erase(id);
  fast_.erase(id);
  containers_.erase(found);
}

void Engine::want(TimePoint now, const std::vector<Wanted>& containers, const std::vector<WantedPod>& pods) {
  std::set<cgroup::Id> there;
  for (const Wanted& wanted : containers) there.insert(wanted.id);
  std::vector<cgroup::Id> ended;
  for (const auto& [id, item] : containers_) {
    if (!there.contains(id)) ended.push_back(id);
  }
  for (const cgroup::Id id : ended) forget(id);
  const auto limits = std::count_if(containers.begin(), containers.end(),
                                    [](const Wanted& wanted) { return wanted.cacheLimit.has_value(); });
  const Duration cacheLook = std::clamp<Duration>(limits * kCacheLookShare, kCacheLook, kLongestPoll);
  for (const Wanted& wanted : containers) {
    const auto [item, isNew] = containers_.try_emplace(wanted.id, Item{Container(wanted, can_)});
    item->second.container.lookAtCacheEvery(cacheLook);
    if (!isNew && item->second.container.wanted() == wanted) continue;
    item->second.container.configure(wanted);
    schedule(item->second.dueAt, wanted.id, now);
  }
  std::map<cgroup::Id, std::vector<cgroup::Id>> members;
  for (const Wanted& wanted : containers) {
    if (wanted.pod) members[*wanted.pod].push_back(wanted.id);
  }
  std::map<cgroup::Id, WantedPod> wantedPods;
  for (const WantedPod& pod : pods) {
    if (members.contains(pod.id)) wantedPods[pod.id] = pod;
  }
  std::erase_if(pods_, [&](const auto& item) {
    if (wantedPods.contains(item.first)) return false;
    queue_.erase({item.second.dueAt, item.first});
    fast_.erase(item.first);
    return true;
  });
  for (const auto& [id, pod] : wantedPods) {
    const auto [item, isNew] = pods_.try_emplace(id, Pod{Level({pod.limit})});
    item->second.level.configure({pod.limit});
    item->second.members = members[id];
    if (isNew) schedule(item->second.dueAt, id, now);
  }
}

bool Engine::busy(const Pod& pod) const {
  return std::any_of(pod.members.begin(), pod.members.end(), [&](cgroup::Id id) {
    const auto found = containers_.find(id);
    return found != containers_.end() && found->second.container.inFlight();
  });
}

std::vector<cgroup::Id> Engine::due(TimePoint now) const {
  std::vector<cgroup::Id> out;
  for (const auto& [at, id] : queue_) {
    if (at > now) break;
    const auto container = containers_.find(id);
    const auto pod = pods_.find(id);
    // While a round runs, what is seen is half of what happens.
    const bool skip = container != containers_.end() ? container->second.container.inFlight()
                                                     : pod != pods_.end() && busy(pod->second);
    if (!skip) out.push_back(id);
  }
  return out;
}

Step Engine::step(TimePoint now, const Inputs& inputs) {
  Step out;
  Touched touched;
  while (!queue_.empty() && queue_.begin()->first <= now) {
    touched.insert(queue_.begin()->second);
    queue_.erase(queue_.begin());
  }
  absorb(now, inputs, touched);
  for (auto& [id, pod] : pods_) {
    if (touched.contains(id)) judgePod(now, id, pod, touched, out);
  }
  for (const cgroup::Id id : touched) decide(now, id, out);
  dispatch(out);
  if (!queue_.empty()) out.wakeAt = queue_.begin()->first;
  return out;
}

void Engine::absorb(TimePoint now, const Inputs& inputs, Touched& touched) {
  if (inputs.node) node_ = *inputs.node;
  for (const Done& done : inputs.done) absorbDone(now, done, touched);
  for (const cgroup::Id id : inputs.lostStats) {
    touched.insert(id);
    if (const auto item = containers_.find(id); item != containers_.end()) item->second.container.statLost(now);
    if (const auto pod = pods_.find(id); pod != pods_.end()) {
      pod->second.statAsked = false;
      pod->second.statAt = now;
    }
  }
  for (const Stat& stat : inputs.stats) {
    touched.insert(stat.id);
    if (const auto item = containers_.find(stat.id); item != containers_.end()) {
      stat.gone ? item->second.container.statLost(now) : item->second.container.observe(stat, node_);
    }
    if (const auto pod = pods_.find(stat.id); pod != pods_.end()) absorbPodStat(pod->second, stat);
  }
  for (const Usage& usage : inputs.usages) {
    touched.insert(usage.id);
    if (!usage.bytes) continue;
    if (const auto item = containers_.find(usage.id); item != containers_.end() && !item->second.container.inFlight())
      item->second.container.observe(now, *usage.bytes);
    if (const auto pod = pods_.find(usage.id); pod != pods_.end() && !busy(pod->second))
      pod->second.level.observe(now, *usage.bytes, std::exchange(pod->second.taken, Bytes{0}));
  }
}

void Engine::wake(TimePoint now, cgroup::Id id) {
  if (const auto item = containers_.find(id); item != containers_.end()) {
    item->second.container.woken(now);
    if (!item->second.container.inFlight()) schedule(item->second.dueAt, id, now);
  }
  if (const auto pod = pods_.find(id); pod != pods_.end()) {
    pod->second.lastWake = now;
    schedule(pod->second.dueAt, id, now);
  }
}

void Engine::absorbDone(TimePoint now, const Done& done, Touched& touched) {
  if (running_ > 0) --running_;
  if (done.sysErrno == EINVAL && done.job.mode != Mode::mixed)
    (done.job.mode == Mode::file ? can_.swappiness : can_.swappinessMax) = false;
  const auto item = containers_.find(done.job.id);
  if (item == containers_.end()) return;
  item->second.container.finished(now, done, can_);
  touched.insert(done.job.id);
  const auto pod = pods_.find(item->second.container.wanted().pod.value_or(0));
  if (pod == pods_.end()) return;
  pod->second.taken += done.taken;
  schedule(pod->second.dueAt, pod->first, now);  // it was not looked at meanwhile
}

void Engine::absorbPodStat(Pod& pod, const Stat& stat) {
  pod.statAsked = false;
  pod.statAt = stat.at;
  const auto before = std::exchange(pod.adaptedAt, stat);
  if (!before || stat.gone) return;
  const auto& a = before->memory;
  const auto& b = stat.memory;
  pod.level.adapt(stat.at, {stat.events.max + stat.events.high > before->events.max + before->events.high,
                            b.pgsteal - a.pgsteal, b.restoreFile + b.restoreAnon - a.restoreFile - a.restoreAnon});
}

// What the pod's limit needs is asked of its containers, by what each can give.
void Engine::judgePod(TimePoint now, cgroup::Id id, Pod& pod, Touched& touched, Step& out) {
  const auto target = pod.level.target();
  const Bytes need = target ? pod.level.level() - *target : Bytes{0};
  Bytes all;
  for (const cgroup::Id member : pod.members) all += containers_.at(member).container.reclaimable();
  for (const cgroup::Id member : pod.members) {
    Item& item = containers_.at(member);
    const Bytes share = all.count > 0 ? scale(need, item.container.reclaimable().count, all.count) : Bytes{0};
    if (share.count > 0 || item.share.count > 0) touched.insert(member);
    item.share = share;
  }
  const bool woken = pod.lastWake && now - *pod.lastWake < 2s;
  const Duration every = pod.level.running() || woken ? Duration(kPodStat) : Duration(60s);
  if ((!pod.statAt || now >= *pod.statAt + every) && !pod.statAsked) {
    pod.statAsked = true;
    out.stats.push_back(id);
  }
  Duration after = pod.level.pollAfter(mayBeFast(id, pod.level.wantsFast()));
  if (pod.level.running()) after = std::max<Duration>(after, kShortestPoll);  // a round of a member looks earlier
  if (woken || pod.level.running()) after = std::min<Duration>(after, kPodStat);
  schedule(pod.dueAt, id, together(now, now + after));
}

bool Engine::mayBeFast(cgroup::Id id, bool wants) {
  if (!wants) {
    fast_.erase(id);
    return false;
  }
  if (fast_.size() < kMostFast) fast_.insert(id);
  return fast_.contains(id);
}

void Engine::decide(TimePoint now, cgroup::Id id, Step& out) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  Item& item = found->second;
  const bool fast = mayBeFast(id, item.container.wantsFast());
  const Container::Decision decision = item.container.decide(now, item.share, can_, fast);
  if (decision.stat) out.stats.push_back(id);
  item.ready = decision.job;
  if (decision.job) {
    if (ready_.insert(id).second) item.turn = std::max(item.turn, turn_);
  } else {
    ready_.erase(id);
  }
  schedule(item.dueAt, id, together(now, std::max(decision.wakeAt, now + kFastestPoll)));
}

// Urgent ones first, but not alone for ever; then who waited for the most turns; then who is furthest over its mark.
std::map<cgroup::Id, Engine::Item>::iterator Engine::pick() {
  const auto rank = [&](const Item& item, bool urgentFirst) {
    return std::tuple(urgentFirst != item.ready->urgent, item.turn, -item.container.excess());
  };
  auto best = containers_.end();
  for (const cgroup::Id id : ready_) {
    const auto item = containers_.find(id);
    const bool urgentFirst = urgentInARow_ < kMostUrgentInARow;
    if (best == containers_.end() || rank(item->second, urgentFirst) < rank(best->second, urgentFirst)) best = item;
  }
  return best;
}

void Engine::dispatch(Step& out) {
  while (running_ < can_.workers && !ready_.empty()) {
    const auto item = pick();
    const Job job = *std::exchange(item->second.ready, std::nullopt);
    ready_.erase(item->first);
    urgentInARow_ = job.urgent ? urgentInARow_ + 1 : 0;
    turn_ = std::max(turn_, item->second.turn);
    ++item->second.turn;
    item->second.container.started();
    ++running_;
    out.jobs.push_back(job);
  }
}

std::optional<View> Engine::view(cgroup::Id id) const {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return std::nullopt;
  return found->second.container.view();
}

}  // namespace memqos::reclaim
