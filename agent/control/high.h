// Pure: memory.high goes down gradually and comes up at once. Nobody is throttled by our own write, and who is
// throttled all the same is rescued.
#pragma once

#include <chrono>
#include <optional>

#include "base/units.h"
#include "loop/loop.h"

namespace memqos::control {

// Constants of the contract.
inline constexpr auto kLowerWithin = std::chrono::seconds(30);         // then the value reached stays, with one Event
inline constexpr auto kLowerAgain = std::chrono::seconds(5);           // how often it is looked at afterwards
inline constexpr auto kReclaimPause = std::chrono::milliseconds(500);  // after two fruitless chunks in a row
inline constexpr Bytes kReclaimChunk = kMiB;
inline constexpr auto kEscapeWindow = std::chrono::seconds(5);
inline constexpr auto kFirstHold = std::chrono::minutes(10);
inline constexpr auto kLongestHold = std::chrono::hours(24);

// The least room between usage and a lowered memory.high: max(8 MiB, 1 % of usage).
Bytes headroomFor(Bytes usage);

// What is known of one container when a step is taken.
struct HighFacts {
  Limit current;               // memory.high in the kernel
  Limit wanted;                // the Plan's value
  std::optional<Bytes> usage;  // memory.current just read; nullopt: unreadable, then nothing is lowered
  bool populated = true;       // cgroup.events
  bool canReclaim = true;      // the kernel has memory.reclaim
};

struct HighStep {
  std::optional<Limit> write;             // memory.high to write now
  std::optional<Bytes> reclaim;           // ask memory.reclaim for this much now, then report with reclaimed()
  std::optional<loop::TimePoint> wakeAt;  // step again then, if nothing else happens
  bool stalled = false;                   // once per lowering: not reached in time; the value reached stays
};

// One throttling sample, cumulative counters.
struct HighSample {
  Limit current;
  Bytes usage;
  std::int64_t highEvents = 0;             // memory.events: high
  std::chrono::microseconds fullTotal{0};  // memory.pressure: full total
  Limit limit = Limit::max();              // the container's memory.max: a high at or above it is max
};

class HighControl {
 public:
  // Decides the next step towards `facts.wanted`. Call when the target changes, at wakeAt, and after a reclaim.
  HighStep step(loop::TimePoint now, const HighFacts& facts);
  // The result of the asked reclaim: how much memory.current went down. Little for its size counts as fruitless.
  void reclaimed(loop::TimePoint now, Bytes asked, Bytes got);
  // Every 5 s: is the container throttled against our value? Then the value to raise to, at once.
  std::optional<Limit> escape(loop::TimePoint now, const HighSample& sample);
  // While an escape holds, the value that replaces the Plan's; nullopt: the Plan's own applies.
  [[nodiscard]] std::optional<Limit> held(loop::TimePoint now) const;
  [[nodiscard]] std::uint64_t escapes() const { return escapes_; }

 private:
  std::optional<loop::TimePoint> loweringSince_;
  Limit loweringTo_;
  bool reported_ = false;
  int fruitless_ = 0;
  std::optional<loop::TimePoint> pausedUntil_;

  std::optional<HighSample> lastSample_;
  loop::TimePoint lastSampleAt_{};
  std::optional<Limit> heldAt_;
  loop::TimePoint holdUntil_{};
  loop::Duration hold_{};
  loop::Duration nextHold_ = kFirstHold;
  Bytes raise_{};  // size of the last raise of the escape under way; 0: none
  std::uint64_t escapes_ = 0;
};

}  // namespace memqos::control
