#include "reclaim/modes.h"

#include <algorithm>
#include <cerrno>

#include "reclaim/level.h"

namespace memqos::reclaim {

std::optional<Mode> Modes::choose(TimePoint now, const ModeFacts& facts, const Abilities& can, Bytes chunk) const {
  const Bytes grown{chunk.count * 4};
  const bool more = all_.until && facts.file + facts.anon >= all_.seen + grown;
  if (blockedUntil_ && now < *blockedUntil_ && !more) return std::nullopt;
  if (!facts.swapRoom) return Mode::mixed;  // which takes nothing but file pages there
  if (tryAnon_ && can.swappinessMax && !facts.anonForbidden) return Mode::anon;
  const bool fileMay = can.swappiness &&
                       (facts.anonForbidden || !file_.until || now >= *file_.until || facts.file >= file_.seen + grown);
  const bool fileWorth = facts.file >= std::max(grown, Bytes{can.staleness.count * 2});
  if (facts.anonForbidden) return can.swappiness ? std::optional(Mode::file) : std::nullopt;
  if (facts.fileFirst && fileMay && fileWorth) return Mode::file;
  return Mode::mixed;
}

void Modes::leave(BackOff& backOff, TimePoint now, Duration first, Duration longest, Bytes seen) {
  backOff.next = backOff.next == Duration{} ? first : std::min(backOff.next * 2, longest);
  backOff.until = now + backOff.next;
  backOff.seen = seen;
}

void Modes::progress(Mode mode) {
  if (mode == Mode::file) file_ = {};
  all_ = {};
  tryAnon_ = again_ = unreclaimable_ = restsForDirty_ = false;
  blockedUntil_.reset();
  dirtyWait_ = kDirtyWait;
}

void Modes::restForDirty(TimePoint now) {
  restsForDirty_ = true;
  blockedUntil_ = now + dirtyWait_;
  dirtyWait_ = std::min<Duration>(dirtyWait_ * 2, kLongestDirtyWait);
}

void Modes::seen(TimePoint now, const ModeFacts& facts) {
  if (restsForDirty_ && !facts.dirty) {
    restsForDirty_ = false;
    dirtyWait_ = kDirtyWait;
    blockedUntil_.reset();
  } else if (unreclaimable_ && facts.dirty) {
    unreclaimable_ = false;
    all_ = {};
    restForDirty(now);
  }
}

void Modes::fail(TimePoint now, const ModeFacts& facts, const Abilities& can) {
  if (facts.dirty) return restForDirty(now);
  if (!tryAnon_ && facts.swapRoom && !facts.anonForbidden && can.swappinessMax) {
    tryAnon_ = true;
    return;
  }
  tryAnon_ = false;
  unreclaimable_ = true;
  leave(all_, now, kUnreclaimableBackOff, kLongestBackOff, facts.file + facts.anon);
  blockedUntil_ = all_.until;
}

void Modes::judge(TimePoint now, const Done& done, const ModeFacts& facts, const Abilities& can, double growth) {
  // Nothing was written, or the deadline cut it short: nothing learnt.
  if (done.writes.empty() || done.gone || done.sysErrno == EINTR) return;
  if (done.sysErrno == 0) return progress(done.job.mode);
  const Bytes got = done.lastGot + grownIn(growth, done.writes.back());
  const bool some = got.count * 8 >= done.lastAsked.count && done.sysErrno == EAGAIN;
  if (some) {
    // The rest is not there, or not now. Two in a row cost a drain of every CPU's lists each.
    const bool twice = again_;
    progress(done.job.mode);
    again_ = true;
    if (done.job.mode == Mode::file) leave(file_, now, kFileBackOff, kLongestBackOff, facts.file);
    if (twice) blockedUntil_ = now + kDirtyWait;
    return;
  }
  if (done.job.mode == Mode::file && !facts.anonForbidden) {
    leave(file_, now, kFileBackOff, kLongestBackOff, facts.file);  // the same amount goes to MIXED at once
    return;
  }
  fail(now, facts, can);
}

void Modes::wake(TimePoint now) {
  if (!blockedUntil_ || (wokenAt_ && now - *wokenAt_ < kUnreclaimableBackOff)) return;
  wokenAt_ = now;
  blockedUntil_ = now;
}

}  // namespace memqos::reclaim
