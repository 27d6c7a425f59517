// Pure: one container: what is known of it, and what to do about it now.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "reclaim/governor.h"
#include "reclaim/level.h"
#include "reclaim/modes.h"
#include "reclaim/round.h"
#include "reclaim/samples.h"

namespace memqos::reclaim {

enum class State {
  waiting,         // nothing is known yet
  idle,            // below its marks
  reclaiming,      // above them
  slowed,          // by pressure or refaults
  paused,          // what was taken was wanted back at once
  unreclaimable,   // above its mark, and nothing can be taken
  floorAboveMark,  // what must be kept reaches the mark
  forbidden,       // only swap would help, and must not be used
};
std::string_view name(State state);  // "idle", ...

struct Counters {
  Bytes requested, reclaimed;
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> writes;  // {mode, result}
};

// Below which reclaim must not go. `hard`: for good; `now`: with what is dirty at the moment.
struct Floors {
  Bytes hard, now;
  Bytes heap;  // below, it is heap that is taken, where swap has room
};
// `swappable`: how much anonymous and shared memory may be swapped out. `reserve`: page cache that is always left, for
// program text that is read rather than mapped.
Floors floorsOf(Bytes kept, const Stat& stat, Bytes swappable, Bytes reserve);

// What people are shown.
struct View {
  How how = How::off;
  State state = State::waiting;
  TimePoint since{};  // in that state
  std::optional<Bytes> usage;
  std::optional<Marks> marks;  // none: no limit
  bool trims = false;          // no limit says how much: a little is taken all the time
  std::optional<Bytes> cacheLimit;
  std::optional<Bytes> cacheMapped, cacheUnmapped;
  std::optional<Bytes> floor;
  std::optional<std::int64_t> refaultPages;
  Counters counters;
};

class Container {
 public:
  Container(const Wanted& wanted, const Abilities& can);
  void configure(const Wanted& wanted);
  // How long page cache with a limit may go without a look: no event of the kernel tells that it grows.
  void lookAtCacheEvery(Duration time) { cacheLook_ = time; }
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }

  void observe(TimePoint now, Bytes usage);  // memory.current
  void observe(const Stat& stat, const NodeStat& node);
  void finished(TimePoint now, const Done& done, const Abilities& can);
  void woken(TimePoint now);     // memory.events changed
  void statLost(TimePoint now);  // the look that was asked for will not come

  struct Decision {
    std::optional<Job> job;  // due now
    bool stat = false;       // a slow look is due
    TimePoint wakeAt{};      // decide again then
  };
  // `share`: what the pod's limit asks of this container, 0: nothing.
  Decision decide(TimePoint now, Bytes share, const Abilities& can, bool mayBeFast);
  void started() { inFlight_ = true; }

  [[nodiscard]] bool inFlight() const { return inFlight_; }
  [[nodiscard]] bool urgent() const { return memory_ && memory_->urgent(); }
  [[nodiscard]] bool wantsFast() const;
  // How far over its stop mark, as a share of the limit: who is first among equals.
  [[nodiscard]] double excess() const;
  [[nodiscard]] Bytes reclaimable() const;  // as of the last slow look
  [[nodiscard]] View view() const;

 private:
  [[nodiscard]] ModeFacts modeFacts() const;
  [[nodiscard]] Bytes swappable() const;
  [[nodiscard]] Floors floors() const;
  [[nodiscard]] std::optional<Job> nextJob(TimePoint now, Bytes share, const Abilities& can);
  [[nodiscard]] std::optional<Job> memoryJob(TimePoint now, Bytes share);
  [[nodiscard]] Bytes targetAbove(const Floors& floor, Bytes own);
  void spareHeap(Job& job, ModeFacts& facts, const Abilities& can) const;
  [[nodiscard]] std::optional<Job> cacheJob() const;
  [[nodiscard]] std::optional<Job> trimJob(TimePoint now);
  [[nodiscard]] Duration statEvery(TimePoint now) const;
  [[nodiscard]] bool pictureOutdated(TimePoint now) const;
  // When the next slow look is due. While one is on its way: not soon, its end is told.
  [[nodiscard]] TimePoint statAt(TimePoint now) const;
  [[nodiscard]] TimePoint pollAt(TimePoint now, bool mayBeFast) const;
  void adapt(const Stat& stat);
  void cacheSeen(TimePoint now, Bytes cache, Bytes taken);
  void enter(TimePoint now, State state);

  Wanted wanted_;
  std::optional<Level> memory_, cache_;
  Modes modes_;
  Governor governor_;
  ChunkPace pace_;
  Bytes readAhead_;
  std::optional<Bytes> usage_;
  std::optional<Stat> stat_;
  std::optional<Stat> adaptedAt_;
  NodeStat node_;
  Duration cacheLook_ = kLongestPoll;
  Bytes cacheAt_;    // page cache as last seen
  Bytes cacheBase_;  // memory.current then
  bool inFlight_ = false;
  std::optional<TimePoint> statAskedAt_;  // a slow look is on its way
  TimePoint statNotBefore_{};
  std::optional<TimePoint> lastJob_, lastWake_;
  std::optional<TimePoint> notBefore_;
  std::optional<Bytes> begins_;  // above the start mark: usage at which a round is worth it
  TimePoint trimAt_{};
  Duration floorWait_{};
  State state_ = State::waiting;
  TimePoint stateSince_{};
  Counters counters_;
};

}  // namespace memqos::reclaim
