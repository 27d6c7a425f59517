// Pure: slows reclaim down when what it takes is wanted back, or when the container stalls.
#pragma once

#include <deque>

#include "reclaim/samples.h"

namespace memqos::reclaim {

inline constexpr auto kGovernorWindow = std::chrono::seconds(10);

// Cumulative counters of one look.
struct Vital {
  TimePoint at{};
  std::int64_t restored = 0, stolen = 0;  // pages
  std::int64_t limitHits = 0;             // memory.events: max + high
  Bytes swapUsed;
  std::chrono::microseconds memoryStall{0}, ioStall{0};  // `some` totals: averages hide stalls from 6.16 on
};

class Governor {
 public:
  void observe(const Vital& vital);
  // Pages that were hot when they were evicted, for each page stolen, over the window. Plain refaults say nothing: they
  // are counted before recency is tested.
  [[nodiscard]] double hotShare() const;
  // More than half of what is evicted is wanted back: then all rests for a window.
  [[nodiscard]] std::optional<TimePoint> pausedUntil() const { return pausedUntil_; }
  // The share of time that reclaim may run, 0 to 1.
  [[nodiscard]] double rate() const;
  // What of `usage` to take every kTrimEvery where no limit says how much: 0.05 % of it, less the more it stalls
  // (Transparent Memory Offloading, Weiner et al., ASPLOS 2022).
  [[nodiscard]] Bytes trim(Bytes usage) const;
  // More than 1 MiB a second is swapped out: a disk wears.
  [[nodiscard]] bool swapsMuch() const;

 private:
  [[nodiscard]] double stall() const;  // the larger share of time, memory or io
  std::deque<Vital> window_;
  std::optional<TimePoint> pausedUntil_;
};

inline constexpr auto kTrimEvery = std::chrono::seconds(6);

}  // namespace memqos::reclaim
