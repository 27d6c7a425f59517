// Pure: which pages to ask for, and when to stop asking. Asking for file pages only is a bet on statistics that may be
// stale; whether it was lost is judged by what memory.current did, which cannot be. A mode without progress is left
// within one write, and no mode is tried in a loop.
#pragma once

#include <array>
#include <optional>

#include "reclaim/round.h"
#include "reclaim/samples.h"

namespace memqos::reclaim {

inline constexpr auto kFileBackOff = std::chrono::seconds(1);
inline constexpr auto kUnreclaimableBackOff = std::chrono::seconds(5);
inline constexpr auto kLongestBackOff = std::chrono::seconds(60);
inline constexpr auto kDirtyWait = std::chrono::milliseconds(20);
inline constexpr auto kLongestDirtyWait = std::chrono::seconds(1);

struct ModeFacts {
  bool swapRoom = false;       // something could be swapped
  bool anonForbidden = false;  // but must not be: shared memory that may hold secrets, or swap that is nearly full
  bool fileFirst = false;      // a page-cache limit, or trimming
  bool dirty = false;          // much of the page cache is dirty or under writeback: it will be clean soon
  Bytes file;                  // page cache that looks reclaimable
  Bytes anon;
};

class Modes {
 public:
  // nullopt: wait until retryAt(), or for ever (nothing is allowed).
  [[nodiscard]] std::optional<Mode> choose(TimePoint now, const ModeFacts& facts, const Abilities& can,
                                           Bytes chunk) const;
  // How the last write of a round ended. `growth` is in bytes a second: what was charged meanwhile hides what was
  // taken.
  void judge(TimePoint now, const Done& done, const ModeFacts& facts, const Abilities& can, double growth);
  // A slow look: what rests for dirty pages goes on once they are clean, and what seemed to have nothing may have had
  // dirty pages.
  void seen(TimePoint now, const ModeFacts& facts);
  // A limit was hit: worth another try now, but not again and again.
  void wake(TimePoint now);
  // Nothing can be reclaimed; stays so until something can.
  [[nodiscard]] bool unreclaimable() const { return unreclaimable_; }
  [[nodiscard]] std::optional<TimePoint> retryAt() const { return blockedUntil_; }

 private:
  struct BackOff {
    std::optional<TimePoint> until;
    Duration next{};
    Bytes seen;  // of the pages the mode asks for, when it was left
  };
  static void leave(BackOff& backOff, TimePoint now, Duration first, Duration longest, Bytes seen);
  void progress(Mode mode);
  void restForDirty(TimePoint now);
  void fail(TimePoint now, const ModeFacts& facts, const Abilities& can);

  BackOff file_;
  BackOff all_;
  bool tryAnon_ = false;  // once, after the others failed
  bool again_ = false;    // the last write fell short, but not entirely
  bool unreclaimable_ = false;
  bool restsForDirty_ = false;
  std::optional<TimePoint> blockedUntil_;
  std::optional<TimePoint> wokenAt_;
  Duration dirtyWait_ = kDirtyWait;
};

}  // namespace memqos::reclaim
