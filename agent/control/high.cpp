#include "control/high.h"

#include <algorithm>
#include <utility>

namespace memqos::control {

Bytes headroomFor(Bytes usage) {
  return std::max(mebibytes(8), Bytes{usage.count / 100});
}

HighStep HighControl::step(loop::TimePoint now, const HighFacts& facts) {
  HighStep out;
  const Limit goal = std::max(held(now).value_or(facts.wanted), facts.wanted);
  if (heldAt_ && now < holdUntil_) out.wakeAt = holdUntil_;
  if (goal >= facts.current) {
    loweringSince_.reset();
    if (goal > facts.current) out.write = goal;
    return out;
  }
  if (!loweringSince_ || loweringTo_ != goal) {
    loweringSince_ = now;
    loweringTo_ = goal;
    reported_ = false;
    fruitless_ = 0;
    pausedUntil_.reset();
  }
  if (!facts.usage) {
    out.wakeAt = now + kLowerAgain;
    return out;
  }
  const Limit safe = Limit((*facts.usage + headroomFor(*facts.usage)).roundUp(kPage));
  if (safe <= goal) {
    out.write = goal;
    return out;
  }
  const bool inTime = now - *loweringSince_ < kLowerWithin;
  const bool mayReclaim = facts.canReclaim && facts.populated && inTime;
  if (mayReclaim) {
    if (pausedUntil_ && now < *pausedUntil_) {
      out.wakeAt = pausedUntil_;
      return out;
    }
    pausedUntil_.reset();
    out.reclaim = std::min(kReclaimChunk, safe.bytes() - goal.bytes()).roundUp(kPage);
    return out;
  }
  // Usage is all there is to follow; a step that gains little is not worth a write.
  if (safe.bytes() + kMiB <= facts.current.bytes()) out.write = safe;
  if (!inTime && !reported_) {
    reported_ = true;
    out.stalled = true;
  }
  out.wakeAt = now + (inTime ? std::chrono::duration_cast<loop::Duration>(std::chrono::seconds(1))
                             : loop::Duration(kLowerAgain));
  return out;
}

void HighControl::reclaimed(loop::TimePoint now, Bytes asked, Bytes got) {
  if (got.count >= asked.count / 8) {
    fruitless_ = 0;
    return;
  }
  if (++fruitless_ < 2) return;
  fruitless_ = 0;
  pausedUntil_ = now + kReclaimPause;
}

std::optional<Limit> HighControl::escape(loop::TimePoint now, const HighSample& sample) {
  const std::optional<HighSample> before = std::exchange(lastSample_, sample);
  const loop::TimePoint beforeAt = std::exchange(lastSampleAt_, now);
  if (!before || sample.current.isMax() || now <= beforeAt) return std::nullopt;
  const auto stalled = sample.fullTotal - before->fullTotal;
  const bool throttled = stalled * 5 > std::chrono::duration_cast<std::chrono::microseconds>(now - beforeAt) &&
                         sample.highEvents > before->highEvents &&
                         sample.usage.count >= scale(sample.current.bytes(), 98, 100).count;
  if (!throttled) {
    raise_ = {};
    return std::nullopt;
  }
  const bool first = raise_.count == 0;
  raise_ = first ? std::max(mebibytes(64), Bytes{sample.current.bytes().count / 10}) : raise_ + raise_;
  const Limit raised = Limit((sample.current.bytes() + raise_).roundUp(kPage));
  heldAt_ = raised >= sample.limit ? Limit::max() : raised;
  if (first) {
    ++escapes_;
    hold_ = nextHold_;
    nextHold_ = std::min<loop::Duration>(nextHold_ * 2, kLongestHold);
  }
  holdUntil_ = now + hold_;  // counted from the last raise of an escape
  return heldAt_;
}

std::optional<Limit> HighControl::held(loop::TimePoint now) const {
  if (!heldAt_ || now >= holdUntil_) return std::nullopt;
  return heldAt_;
}

}  // namespace memqos::control
