#include "reclaim/fake_world.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace memqos::reclaim {
namespace {

constexpr Bytes kBatch{128 * 1024};  // of direct reclaim: SWAP_CLUSTER_MAX pages
constexpr auto kStep = std::chrono::microseconds(250);
constexpr auto kNotifyEvery = std::chrono::milliseconds(10);  // kernel/cgroup/cgroup.c: CGROUP_FILE_NOTIFY_MIN_INTV
constexpr auto kCoarseStep = std::chrono::milliseconds(2);

Bytes part(double rate, double seconds) {
  return {static_cast<std::int64_t>(std::llround(rate * seconds))};
}

}  // namespace

void FakeCgroup::advance(double seconds) {
  const Bytes cleaned = std::min(dirty, part(cleans, seconds));
  dirty -= cleaned;
  clean += cleaned + part(reads, seconds);
  dirty += part(writes, seconds);
  anon += part(allocates, seconds);
  while (usage() > limit) {
    ++hits;
    if (take(kBatch, Mode::mixed).count == 0) {
      // Writers wait for the disk; allocations fail.
      const Bytes over = usage() - limit;
      const Bytes back = std::min(over, dirty);
      dirty -= back;
      anon -= over - back;
      return;
    }
  }
}

Bytes FakeCgroup::take(Bytes amount, Mode mode) {
  Bytes freed;
  if (mode != Mode::anon && !(mode == Mode::file && stuckFile)) {
    const Bytes file = std::min(amount, clean);
    const Bytes hot = part(hotShare, static_cast<double>(file.count));
    clean -= file - hot;
    freed += file - hot;
    stolen += file.count / kPage.count;
    restored += hot.count / kPage.count;
  }
  if (mode != Mode::file && freed < amount) {
    const Bytes out = std::min({amount - freed, anon, swapMost});
    anon -= out;
    swapMost -= out;
    freed += out;
    stolen += out.count / kPage.count;
  }
  return freed;
}

cgroup::MemoryStat FakeCgroup::stat() const {
  cgroup::MemoryStat out;
  out.anon = anon;
  out.shmem = shmem;
  out.file = clean + dirty + shmem + locked + staleFile;
  out.fileMapped = mapped;
  out.fileDirty = dirty;
  out.inactiveFile = clean + dirty + staleFile;
  out.unevictable = locked;
  out.pgsteal = stolen;
  out.restoreFile = restored;
  return out;
}

FakeCgroup& FakeWorld::add(const FakeCgroup& cgroup, Wanted one) {
  one.id = cgroup.id;
  if (!one.limit) one.limit = cgroup.limit;
  if (one.pod) members[*one.pod].push_back(cgroup.id);
  wanted.push_back(one);
  auto& out = cgroups[cgroup.id] = cgroup;
  out.served = now;
  return out;
}

Bytes FakeWorld::usageOf(cgroup::Id id) const {
  if (const auto found = cgroups.find(id); found != cgroups.end()) return found->second.usage();
  Bytes sum;
  for (const cgroup::Id member : members.at(id)) sum += cgroups.at(member).usage();
  return sum;
}

Stat FakeWorld::statOf(cgroup::Id id) const {
  Stat out;
  out.id = id;
  out.at = now;
  out.usage = usageOf(id);
  const auto found = cgroups.find(id);
  if (found == cgroups.end()) return out;
  out.memory = found->second.stat();
  out.events.max = found->second.hits;
  out.swapRoom = Limit(found->second.swapMost);
  return out;
}

struct FakeWorld::Hand final : Hands {
  Hand(FakeWorld& w, FakeCgroup& g, TimePoint begin) : world(w), group(g), at(begin) {}
  TimePoint now() override { return at; }
  bool populated() override { return group.populated; }
  std::optional<Bytes> usage() override { return group.usage(); }
  std::optional<Bytes> cache() override { return group.clean + group.dirty - group.mapped; }
  Write write(Bytes amount, Mode mode) override {
    Write out;
    out.before = group.usage();
    const Bytes freed = group.take(amount, mode);
    out.wall = out.cpu = std::chrono::microseconds(50) +
                         std::chrono::nanoseconds(
                             static_cast<std::int64_t>(static_cast<double>(freed.count) / world.bytesPerSecond * 1e9));
    const double seconds = std::chrono::duration<double>(out.wall).count();
    group.advance(seconds);
    group.ahead += seconds;
    at += out.wall;
    out.after = group.usage();
    out.sysErrno = freed < amount ? EAGAIN : 0;
    ++group.kernelWrites;
    ++group.modes[mode];
    group.least = std::min(group.least, out.before - freed);
    return out;
  }
  FakeWorld& world;
  FakeCgroup& group;
  TimePoint at;
};

// The cgroup's time runs on within a round; the others catch up when the clock does.
Done FakeWorld::execute(const Job& job, TimePoint begin) {
  FakeCgroup& group = cgroups.at(job.id);
  group.longestGap = std::max<Duration>(group.longestGap, begin - group.served);
  group.served = begin;
  Hand hand(*this, group, begin);
  Done done = reclaim::run(job, hand);
  ends_.emplace(std::max(hand.at, begin + std::chrono::microseconds(20)), done);
  return done;
}

void FakeWorld::oneStep() {
  for (const cgroup::Id id : engine.due(now)) {
    pending_.usages.push_back({id, usageOf(id)});
    ++looks;
  }
  pending_.node = node;
  const Step step = engine.step(now, std::exchange(pending_, {}));
  ++steps;
  for (const Job& job : step.jobs) execute(job, now);
  for (const cgroup::Id id : step.stats) {
    statEnds_.emplace(now + statDelay, id);
    ++stats;
  }
  toldAt_ = step.wakeAt.value_or(now + std::chrono::hours(1));
}

void FakeWorld::moveTo(TimePoint to) {
  const double seconds = std::chrono::duration<double>(to - now).count();
  now = to;
  for (auto& [id, group] : cgroups) {
    const double known = std::min(seconds, group.ahead);
    group.ahead -= known;
    group.advance(seconds - known);
    if (group.hits == hitsSeen_[id] || now - wokenAt_[id] < kNotifyEvery) continue;
    hitsSeen_[id] = group.hits;
    wokenAt_[id] = now;
    engine.wake(now, id);
    woken_ = true;
  }
}

void FakeWorld::run(Duration time) {
  const TimePoint end = now + time;
  if (steps == 0) oneStep();
  const bool quiet = std::all_of(cgroups.begin(), cgroups.end(), [](const auto& item) {
    const FakeCgroup& g = item.second;
    return g.reads + g.writes + g.allocates + g.cleans == 0;
  });
  while (now < end) {
    TimePoint next =
        quiet ? end : std::min(end, now + (cgroups.size() > 100 ? Duration(kCoarseStep) : Duration(kStep)));
    next = std::min(next, std::max(now, toldAt_));
    if (!ends_.empty()) next = std::min(next, ends_.begin()->first);
    if (!statEnds_.empty()) next = std::min(next, statEnds_.begin()->first);
    moveTo(std::max(next, now));
    for (; !ends_.empty() && ends_.begin()->first <= now; ends_.erase(ends_.begin()))
      pending_.done.push_back(ends_.begin()->second);
    for (; !statEnds_.empty() && statEnds_.begin()->first <= now; statEnds_.erase(statEnds_.begin()))
      pending_.stats.push_back(statOf(statEnds_.begin()->second));
    const bool news = !pending_.done.empty() || !pending_.stats.empty() || std::exchange(woken_, false);
    if (news || now >= toldAt_) oneStep();
  }
}

}  // namespace memqos::reclaim
