#include "reclaim/container.h"

#include <algorithm>
#include <cerrno>

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr auto kDirtyStat = 50ms;  // what is dirty now is clean soon
constexpr auto kBusyStat = 200ms;
constexpr auto kMovedStat = 5s;
constexpr auto kCalmStat = 60s;
constexpr auto kStatTimeout = 10s;
constexpr auto kLostStat = 5s;         // a node that is too busy for a look is not asked for it again at once
constexpr auto kOutdated = 500ms;      // so old a slow look is not acted on if much was charged since
constexpr auto kOutdatedWait = 100ms;  // but the next one is waited for no longer than that
constexpr auto kSlowPoll = 500ms;
constexpr Bytes kLeastStep{512 * 1024};
constexpr double kLeastRate = 0.02;

bool trims(const Wanted& wanted) {
  return wanted.how == How::pressure || (wanted.how == How::automatic && !wanted.limit);
}
bool watches(const Wanted& wanted) {
  return (wanted.how == How::watermark || wanted.how == How::automatic) && wanted.limit;
}

Bytes reserveOf(const Wanted& wanted) {
  return wanted.limit ? std::min(mebibytes(16), Bytes{wanted.limit->count / 16}) : mebibytes(16);
}

Bytes unmapped(const cgroup::MemoryStat& stat) {
  return std::max(Bytes{0}, stat.pageCache() - stat.fileMapped);
}

}  // namespace

std::string_view name(State state) {
  switch (state) {
    case State::waiting:
      return "waiting";
    case State::idle:
      return "idle";
    case State::reclaiming:
      return "reclaiming";
    case State::slowed:
      return "slowed";
    case State::paused:
      return "paused";
    case State::unreclaimable:
      return "unreclaimable";
    case State::floorAboveMark:
      return "floor above mark";
    case State::forbidden:
      return "forbidden";
  }
  return "";
}

// From the sizes of the LRU lists, not from `file`: ramfs, secretmem and locked pages are in `file` and cannot be
// taken.
Floors floorsOf(Bytes kept, const Stat& stat, Bytes swappable, Bytes reserve) {
  const cgroup::MemoryStat& m = stat.memory;
  const Bytes dirty = m.fileDirty + m.fileWriteback;
  const Bytes listed = std::min(m.pageCache(), m.activeFile + m.inactiveFile);
  Floors out;
  out.hard = std::max(kept, stat.usage - listed - m.slabReclaimable - swappable);
  out.heap = stat.usage - m.pageCache() + m.fileMapped + std::min(reserve, unmapped(m));
  if (swappable.count == 0) out.hard = std::max(out.hard, out.heap);
  out.hard = std::max(out.hard, Bytes{0});
  // The kernel does not write dirty pages here, and wakes the flushers of all devices where it finds nothing else.
  const bool mostlyDirty = dirty.count * 2 > m.pageCache().count;
  out.now = mostlyDirty ? std::max(out.hard, stat.usage - m.cleanCache() - m.slabReclaimable - swappable) : out.hard;
  return out;
}

Container::Container(const Wanted& wanted, const Abilities& can)
    : pace_(can.swappiness ? mebibytes(4) : kMiB), readAhead_(can.readAhead) {
  configure(wanted);
}

void Container::configure(const Wanted& wanted) {
  wanted_ = wanted;
  const auto set = [](std::optional<Level>& level, const LevelSettings& settings) {
    if (level) {
      level->configure(settings);
    } else {
      level.emplace(settings);
    }
  };
  if (wanted.limit && wanted.how != How::off) {
    set(memory_, {*wanted.limit, wanted.start, wanted.stop});
  } else {
    memory_.reset();
  }
  if (wanted.cacheLimit) {
    set(cache_, {*wanted.cacheLimit});
  } else {
    cache_.reset();
  }
}

void Container::observe(TimePoint now, Bytes usage) {
  usage_ = usage;
  if (memory_) memory_->observe(now, usage, Bytes{0});
  // Whatever was charged since may be page cache.
  if (cache_ && stat_) cache_->observe(now, cacheAt_ + std::max(Bytes{0}, usage - cacheBase_), Bytes{0});
}

void Container::cacheSeen(TimePoint now, Bytes cache, Bytes taken) {
  cacheAt_ = cache;
  cacheBase_ = usage_.value_or(Bytes{0});
  if (cache_) cache_->observe(now, cache, taken);
}

void Container::observe(const Stat& stat, const NodeStat& node) {
  statAskedAt_.reset();
  stat_ = stat;
  node_ = node;
  Vital vital{stat.at,
              stat.memory.restoreFile + stat.memory.restoreAnon,
              stat.memory.pgsteal,
              stat.events.max + stat.events.high,
              stat.swapUsed,
              {},
              {}};
  if (stat.memoryPressure) vital.memoryStall = stat.memoryPressure->some;
  if (stat.ioPressure) vital.ioStall = stat.ioPressure->some;
  governor_.observe(vital);
  modes_.seen(stat.at, modeFacts());
  if (!inFlight_) {
    observe(stat.at, stat.usage);
    cacheSeen(stat.at, unmapped(stat.memory), Bytes{0});
  }
  adapt(stat);
}

void Container::adapt(const Stat& stat) {
  if (adaptedAt_ && stat.at - adaptedAt_->at < kAdaptEvery) return;
  const auto before = std::exchange(adaptedAt_, stat);
  if (!before || !memory_) return;
  const auto& a = before->memory;
  const auto& b = stat.memory;
  memory_->adapt(stat.at,
                 {stat.events.max + stat.events.high > before->events.max + before->events.high, b.pgsteal - a.pgsteal,
                  b.restoreFile + b.restoreAnon - a.restoreFile - a.restoreAnon, governor_.hotShare()});
}

void Container::woken(TimePoint now) {
  // Once in a while: somebody who always hits its limit must not undo the back-off.
  if (state_ == State::floorAboveMark && (!lastWake_ || now - *lastWake_ > kUnreclaimableBackOff)) notBefore_.reset();
  lastWake_ = now;
  modes_.wake(now);
}

void Container::finished(TimePoint now, const Done& done, const Abilities& can) {
  inFlight_ = false;
  lastJob_ = now;
  if (!done.ran) {
    notBefore_ = now + kShortestPoll;
    return;
  }
  pace_ = done.pace;
  counters_.requested += done.asked;
  counters_.reclaimed += done.taken;
  for (const auto& [result, count] : done.results) counters_.writes[{name(done.job.mode), result}] += count;
  if (done.gone) return;
  if (memory_) modes_.judge(now, done, modeFacts(), can, memory_->growth());
  if (!memory_) modes_.judge(now, done, modeFacts(), can, 0);
  if (done.usage) {
    usage_ = done.usage;
    if (memory_) memory_->observe(now, *done.usage, done.taken);
    if (done.cache) {
      cacheSeen(now, *done.cache, done.taken);
    } else if (cache_ && stat_) {
      cacheSeen(now, cacheAt_ + std::max(Bytes{0}, *done.usage - cacheBase_), Bytes{0});
    }
  }
  const double rate = wanted_.how == How::automatic && !urgent() ? std::max(governor_.rate(), kLeastRate) : 1;
  if (rate < 1) {
    const Duration least = std::max<Duration>(done.wall, kLongestWrite);
    notBefore_ = now + std::chrono::duration_cast<Duration>(least * (1 / rate - 1));
  }
  // The kernel scanned for nothing, on a CPU of somebody: at most a third of the time.
  if (!done.writes.empty() && done.sysErrno == EAGAIN)
    notBefore_ = std::max(notBefore_.value_or(now), now + 2 * done.writes.back());
  // A round without a write found nothing to do, or nobody there.
  if (done.writes.empty()) notBefore_ = now + (done.unpopulated ? Duration(1s) : Duration(kShortestPoll));
}

Bytes Container::swappable() const {
  if (!stat_) return {};
  const Bytes room = std::min(node_.swapFree, stat_->swapRoom.bytes());
  return modeFacts().anonForbidden ? Bytes{0} : std::min(stat_->memory.anon + stat_->memory.shmem, room);
}

ModeFacts Container::modeFacts() const {
  ModeFacts out;
  if (!stat_) return out;
  const cgroup::MemoryStat& m = stat_->memory;
  const Bytes room = std::min(node_.swapFree, stat_->swapRoom.bytes());
  out.swapRoom = room >= mebibytes(1);
  const bool secrets = m.shmem.count > 0 && !node_.zramOnly;
  const bool nearlyFull = node_.swapFree < scale(node_.swapTotal, 1, 10);
  out.anonForbidden = out.swapRoom && (secrets || nearlyFull || (governor_.swapsMuch() && !node_.zramOnly));
  out.fileFirst = !memory_ || trims(wanted_) || (cache_ && cache_->running());
  const Bytes dirty = m.fileDirty + m.fileWriteback;
  out.dirty = dirty.count * 4 > m.pageCache().count && dirty.count > 0;
  out.file = std::max(Bytes{0}, m.cleanCache() - m.fileMapped);
  out.anon = m.anon;
  return out;
}

Floors Container::floors() const {
  Floors out = floorsOf(wanted_.floor, *stat_, swappable(), reserveOf(wanted_));
  if (!wanted_.limit || swappable().count == 0) return out;
  // What streams have read ahead and not used yet, as far as there is room: evicted, it is read again, counts as hot,
  // and leaves even less room for what comes next.
  const Bytes text = stat_->usage - unmapped(stat_->memory);
  const Bytes ahead = std::min(readAhead_, scale(std::max(Bytes{0}, *wanted_.limit - text), 3, 4));
  out.heap = std::max(out.heap, text + ahead);
  return out;
}

Bytes Container::reclaimable() const {
  return stat_ ? stat_->memory.reclaimable() + swappable() : Bytes{0};
}

std::optional<Job> Container::memoryJob(TimePoint now, Bytes share) {
  Bytes target = *usage_;
  const Floors floor = floors();
  begins_.reset();
  if (watches(wanted_)) {
    if (const auto own = memory_->target()) {
      if (floor.hard + kLeastChunk > memory_->latestStart()) {
        enter(now, State::floorAboveMark);
      } else {
        target = targetAbove(floor, *own);
      }
    }
  }
  if (share.count > 0) target = std::min(target, *usage_ - share);
  target = std::max(target, floor.now);
  const Bytes need = *usage_ - target;
  if (need < kLeastChunk) return std::nullopt;
  Job job;
  job.target = target;
  job.floor = floor.hard;
  job.amount = std::min(need, kMostRound);
  job.urgent = urgent();
  return job;
}

// `own`: where the marks would bring usage. Where it is now, if it is better to wait.
Bytes Container::targetAbove(const Floors& floor, Bytes own) {
  // What growth is going to need is taken of page cache in advance, but not of heap, which may be hot.
  const Bytes wanted = std::max(own, std::min(memory_->calmStop(), floor.heap));
  if (floor.now > wanted) begins_ = floor.now + kLeastStep;
  // Page cache on top of heap: all that is cold at a time, and then time for what is hot to be used again. Asked again
  // and again for a little, the kernel finds program text unused since it looked last.
  if (wanted > own) begins_ = std::max(begins_.value_or(Bytes{0}), wanted + scale(memory_->limit() - wanted, 1, 2));
  return !begins_ || *usage_ >= *begins_ || memory_->urgent() ? wanted : *usage_;
}

std::optional<Job> Container::cacheJob() const {
  const auto target = cache_ ? cache_->target() : std::nullopt;
  if (!target || cache_->level() - *target < kLeastChunk) return std::nullopt;
  Job job;
  job.what = What::cache;
  job.target = *target;
  job.floor = std::max(wanted_.floor, Bytes{0});
  job.amount = std::min(cache_->level() - *target, kMostRound);
  job.urgent = cache_->urgent();
  return job;
}

std::optional<Job> Container::trimJob(TimePoint now) {
  if (!trims(wanted_) || now < trimAt_) return std::nullopt;
  trimAt_ = now + kTrimEvery;
  const Bytes least = floors().now;
  const Bytes amount = std::min({governor_.trim(*usage_), *usage_ - least, kMostRound});
  if (amount < kLeastChunk) return std::nullopt;
  Job job;
  job.amount = amount;
  job.target = *usage_ - amount;
  job.floor = floors().hard;
  return job;
}

// Where heap need not give, page cache is asked for alone, and for half of it at a time, so that what is hot in it has
// time to be used again: near the limit, since swapping out takes ten times as long; on the classic LRU always, since
// asked for what it likes it swaps heap in use before page cache that is not. Where there is little cache, heap gives
// too.
void Container::spareHeap(Job& job, ModeFacts& facts, const Abilities& can) const {
  if (can.generations && !job.urgent) return;
  if (!memory_ || job.what != What::memory || job.target < floors().heap) return;
  const Bytes cache = facts.file + *usage_ - stat_->usage;
  if (cache < scale(memory_->limit(), 1, job.urgent ? 8 : 4)) return;
  facts.fileFirst = true;
  job.amount = std::min(job.amount, scale(cache, 1, 2));
}

std::optional<Job> Container::nextJob(TimePoint now, Bytes share, const Abilities& can) {
  auto job = memoryJob(now, share);
  if (!job || !job->urgent) {
    if (auto cache = cacheJob()) job = std::move(cache);
  }
  if (!job) job = trimJob(now);
  if (!job) return std::nullopt;
  job->id = wanted_.id;
  job->pace = pace_;
  ModeFacts facts = modeFacts();
  facts.fileFirst = job->what == What::cache || trims(wanted_);
  spareHeap(*job, facts, can);
  const auto mode = modes_.choose(now, facts, can, pace_.chunk());
  if (!mode) {
    enter(now, modes_.unreclaimable() ? State::unreclaimable
                                      : (facts.anonForbidden && !can.swappiness ? State::forbidden : state_));
    return std::nullopt;
  }
  job->mode = *mode;
  return job;
}

Container::Decision Container::decide(TimePoint now, Bytes share, const Abilities& can, bool mayBeFast) {
  Decision out;
  const bool outdated = pictureOutdated(now);
  if (now >= statAt(now) || (outdated && !statAskedAt_ && now >= statNotBefore_)) {
    out.stat = true;
    statAskedAt_ = now;
  }
  if (!stat_ || !usage_ || inFlight_) {
    out.wakeAt = std::max(statAt(now), now + kShortestPoll);
    return out;
  }
  if (outdated && statAskedAt_ && now - *statAskedAt_ < kOutdatedWait) {
    out.wakeAt = now + kShortestPoll;
    return out;
  }
  out.wakeAt = std::min(pollAt(now, mayBeFast), std::max(statAt(now), now + kShortestPoll));
  const bool above = (memory_ && memory_->running()) || (cache_ && cache_->running()) || share.count > 0;
  if (const auto pause = governor_.pausedUntil(); pause && now < *pause) {
    enter(now, !above ? State::idle : urgent() ? State::unreclaimable : State::paused);
    return out;
  }
  if (notBefore_ && now < *notBefore_) {
    out.wakeAt = std::min(std::max(out.wakeAt, now + kShortestPoll), *notBefore_);
    return out;
  }
  notBefore_.reset();
  if (!above) enter(now, State::idle);
  const State before = state_;
  const auto job = nextJob(now, share, can);
  if (job) {
    const bool slowed = wanted_.how == How::automatic && !job->urgent && governor_.rate() < 1;
    enter(now, slowed ? State::slowed : above ? State::reclaiming : State::idle);
    floorWait_ = {};
    out.job = job;
    return out;
  }
  if (state_ == State::floorAboveMark) {
    const bool again = before == State::floorAboveMark;
    floorWait_ = again ? std::min<Duration>(floorWait_ * 2, kLongestBackOff) : kFileBackOff;
    notBefore_ = now + floorWait_;
    out.wakeAt = std::min(out.wakeAt, *notBefore_);
  }
  if (const auto retry = modes_.retryAt(); above && retry && *retry > now)
    out.wakeAt = std::min(*retry, std::max(statAt(now), now + kShortestPoll));
  return out;
}

// What was charged since the last slow look may be page cache or heap: what must be kept is not known.
bool Container::pictureOutdated(TimePoint now) const {
  if (!stat_ || !usage_ || now - stat_->at < kOutdated) return false;
  return *usage_ - stat_->usage > std::max(kMiB, Bytes{usage_->count / 8});
}

void Container::statLost(TimePoint now) {
  statAskedAt_.reset();
  statNotBefore_ = now + kLostStat;
}

TimePoint Container::statAt(TimePoint now) const {
  if (statAskedAt_) return now + kStatTimeout;
  return std::max(stat_ ? stat_->at + statEvery(now) : now, statNotBefore_);
}

Duration Container::statEvery(TimePoint now) const {
  const auto within = [&](const std::optional<TimePoint>& at, Duration time) { return at && now - *at < time; };
  const bool stuck = state_ == State::unreclaimable || state_ == State::floorAboveMark;
  const bool above = (memory_ && memory_->running()) || (cache_ && cache_->running());
  if (above && !stuck && stat_ && modeFacts().dirty) return kDirtyStat;
  if ((above && !stuck) || within(lastJob_, 1s) || within(lastWake_, 2s)) return kBusyStat;
  if (!usage_ || !stat_) return kMovedStat;
  const Bytes moved = std::max(*usage_, stat_->usage) - std::min(*usage_, stat_->usage);
  if (moved > std::max(kMiB, Bytes{usage_->count / 100}) || above) return kMovedStat;
  // Not all at once, for those that began together.
  return kCalmStat + std::chrono::seconds(wanted_.id % 16);
}

TimePoint Container::pollAt(TimePoint now, bool mayBeFast) const {
  Duration after = kLongestPoll;
  if (memory_ && watches(wanted_)) {
    const Bytes start = memory_->marks().start;
    after = std::min(after, memory_->pollAfter(mayBeFast, std::max(start, begins_.value_or(start))));
  }
  if (cache_) after = std::min({after, cacheLook_, cache_->pollAfter(mayBeFast)});
  // Stuck above a mark: its back-off says when to look again.
  if (state_ == State::unreclaimable || state_ == State::floorAboveMark || state_ == State::forbidden)
    after = std::max<Duration>(after, kSlowPoll);
  if (trims(wanted_)) return std::min(now + after, std::max(trimAt_, now + kShortestPoll));
  return now + after;
}

bool Container::wantsFast() const {
  return (memory_ && watches(wanted_) && memory_->wantsFast()) || (cache_ && cache_->wantsFast());
}

double Container::excess() const {
  const auto over = [](const std::optional<Level>& level) {
    if (!level || level->limit().count == 0) return 0.0;
    return static_cast<double>((level->level() - level->marks().stop).count) /
           static_cast<double>(level->limit().count);
  };
  return std::max(over(memory_), over(cache_));
}

void Container::enter(TimePoint now, State state) {
  if (state == state_) return;
  state_ = state;
  stateSince_ = now;
}

View Container::view() const {
  View out;
  out.how = wanted_.how;
  out.state = state_;
  out.since = stateSince_;
  out.usage = usage_;
  if (memory_ && watches(wanted_)) out.marks = memory_->marks();
  out.trims = trims(wanted_);
  out.cacheLimit = wanted_.cacheLimit;
  out.counters = counters_;
  if (!stat_) return out;
  out.cacheUnmapped = unmapped(stat_->memory);
  out.cacheMapped = stat_->memory.pageCache() - *out.cacheUnmapped;
  out.floor = floors().hard;
  out.refaultPages = stat_->memory.refaultFile + stat_->memory.refaultAnon;
  return out;
}

}  // namespace memqos::reclaim
