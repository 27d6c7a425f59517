// Pure: one amount of memory against its limit: how fast it grows, where background reclaim starts and stops, and how
// much is to be taken now. The law is described in docs/design/reclaim.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "loop/loop.h"

namespace memqos::reclaim {

using loop::Duration;
using loop::TimePoint;

inline constexpr auto kLookahead = std::chrono::seconds(2);          // growth that a round takes in advance
inline constexpr auto kGrowthRoom = std::chrono::milliseconds(200);  // growth that the headroom must hold
inline constexpr auto kShortestPoll = std::chrono::milliseconds(50);
inline constexpr auto kLongestPoll = std::chrono::seconds(5);
inline constexpr auto kFastestPoll = std::chrono::milliseconds(1);
inline constexpr auto kPausedPoll = std::chrono::milliseconds(10);  // the shortest between bursts of growth
inline constexpr auto kAdaptEvery = std::chrono::milliseconds(500);

// a * seconds, saturated; never negative.
Bytes grownIn(double bytesPerSecond, Duration time);

// How fast memory is charged: the change of the level with what reclaim took from it added back. An average with a time
// constant, so that it means the same at every polling period. Shrinking leaves no debt: a process that ends says
// nothing of what the next one will allocate.
class Growth {
 public:
  void observe(TimePoint now, Bytes level, Bytes taken);
  [[nodiscard]] double bytesPerSecond() const { return rate_; }
  [[nodiscard]] double recent() const { return recent_; }  // the largest of the last second or two
  [[nodiscard]] double peak() const { return peak_; }      // of the last ten minutes or so
  [[nodiscard]] bool known() const { return looks_ > 2; }

 private:
  std::optional<TimePoint> at_;
  Bytes level_;
  double rate_ = 0;
  double recent_ = 0;
  double peak_ = 0;
  int looks_ = 0;
};

// What happened since the last adaption.
struct Evidence {
  bool limitHit = false;      // memory.events: max or high rose
  std::int64_t stolen = 0;    // pages: pgsteal
  std::int64_t restored = 0;  // pages: workingset_restore_*, hot when they were evicted
  double hotLately = 0;       // restored / stolen over the governor's window
};

// The room kept free below a limit. As large as growth needs and no larger: a working set that fits its limit would
// lose hot pages for nothing.
class Headroom {
 public:
  explicit Headroom(Bytes limit);
  // Every kAdaptEvery.
  void adapt(TimePoint now, const Evidence& evidence);
  [[nodiscard]] Bytes at(const Growth& growth) const;
  [[nodiscard]] Bytes least() const { return least_; }
  [[nodiscard]] Bytes calm() const { return calm_; }

 private:
  Bytes limit_, least_;
  Bytes calm_;        // the headroom without growth
  double trust_ = 1;  // share of the growth term that is used; hot refaults lower it
  TimePoint quietSince_{};
  TimePoint driftedAt_{};
};

struct Marks {
  Bytes headroom;
  Bytes start;   // reclaim begins above
  Bytes stop;    // and ends here
  Bytes urgent;  // first in the queue above, and no governor but that of refaults
};

struct LevelSettings {
  Bytes limit;
  std::optional<Bytes> start{}, stop{};  // fixed by somebody; else they follow the headroom
  bool operator==(const LevelSettings&) const = default;
};

class Level {
 public:
  explicit Level(const LevelSettings& settings);
  void configure(const LevelSettings& settings);  // what was learnt stays where the limit does
  // `taken`: by reclaim of ours since the last call.
  void observe(TimePoint now, Bytes level, Bytes taken);
  void adapt(TimePoint now, const Evidence& evidence);

  [[nodiscard]] Bytes level() const { return level_; }
  [[nodiscard]] Bytes limit() const { return settings_.limit; }
  [[nodiscard]] Marks marks() const;
  [[nodiscard]] Bytes latestStart() const;  // the start mark with the least headroom
  [[nodiscard]] Bytes calmStop() const;     // the stop mark without the room for growth
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] bool urgent() const { return level_ > marks().urgent; }
  // Where reclaim should bring the level now; nullopt: nothing to do. Below the stop mark by the growth that is
  // expected meanwhile.
  [[nodiscard]] std::optional<Bytes> target() const;
  // How long it need not be looked at, if what it waits for is above `mark`. Short periods (under kShortestPoll) only
  // when `mayBeFast`.
  [[nodiscard]] Duration pollAfter(bool mayBeFast, Bytes mark) const;
  [[nodiscard]] Duration pollAfter(bool mayBeFast) const { return pollAfter(mayBeFast, marks().start); }
  [[nodiscard]] bool wantsFast() const;  // the limit is near, by growth as it is or was lately
  [[nodiscard]] double growth() const { return growth_.bytesPerSecond(); }

 private:
  [[nodiscard]] bool nearLimit(double growth) const;  // less than 100 ms of it away
  [[nodiscard]] Bytes stopBelow(Bytes start, Bytes headroom) const;

  LevelSettings settings_;
  Headroom headroom_;
  Growth growth_;
  Bytes level_;
  bool running_ = false;
};

}  // namespace memqos::reclaim
