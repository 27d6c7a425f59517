#include "reclaim/modes.h"

#include <cerrno>

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart(1h);
constexpr Abilities kAll{true, true, mebibytes(1), 2};

Done done(Mode mode, Bytes asked, Bytes got, int sysErrno = EAGAIN) {
  Done out;
  out.job.mode = mode;
  out.lastAsked = asked;
  out.lastGot = got;
  out.sysErrno = sysErrno;
  out.writes = {1ms};
  return out;
}

ModeFacts facts(bool swap, bool fileFirst = false) {
  ModeFacts out;
  out.swapRoom = swap;
  out.fileFirst = fileFirst;
  out.file = mebibytes(32);
  out.anon = mebibytes(16);
  return out;
}

TEST(Modes, WithoutSwapThereIsOneMode) {
  const Modes modes;
  EXPECT_EQ(modes.choose(kStart, facts(false, true), kAll, kMiB), Mode::mixed);
}

TEST(Modes, FilePagesAreABetOnlyWhereItPays) {
  const Modes modes;
  EXPECT_EQ(modes.choose(kStart, facts(true, true), kAll, kMiB), Mode::file);
  EXPECT_EQ(modes.choose(kStart, facts(true, false), kAll, kMiB), Mode::mixed);
  EXPECT_EQ(modes.choose(kStart, facts(true, true), Abilities{}, kMiB), Mode::mixed)
      << "the kernel takes no swappiness";
  ModeFacts little = facts(true, true);
  little.file = mebibytes(3);
  EXPECT_EQ(modes.choose(kStart, little, kAll, kMiB), Mode::mixed);
  EXPECT_EQ(modes.choose(kStart, facts(true, true), {true, true, mebibytes(20), 2}, kMiB), Mode::mixed)
      << "the estimate may be all staleness";
}

TEST(Modes, ALostBetIsLeftWithinOneWriteAndComesBackLaterAndLater) {
  Modes modes;
  TimePoint now = kStart;
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    EXPECT_EQ(modes.choose(now, facts(true, true), kAll, kMiB), Mode::file);
    modes.judge(now, done(Mode::file, kMiB, Bytes{0}), facts(true, true), kAll, 0);
    EXPECT_EQ(modes.choose(now, facts(true, true), kAll, kMiB), Mode::mixed);
    EXPECT_EQ(modes.choose(now + wait - 1ms, facts(true, true), kAll, kMiB), Mode::mixed);
    now += wait;
  }
  ModeFacts more = facts(true, true);
  modes.judge(now, done(Mode::file, kMiB, Bytes{0}), more, kAll, 0);
  more.file += mebibytes(4);
  EXPECT_EQ(modes.choose(now, more, kAll, kMiB), Mode::file) << "there is more of it now";
}

TEST(Modes, WhatNobodyCanTakeIsLeftAloneForLongerAndLonger) {
  Modes modes;
  TimePoint now = kStart;
  for (const auto wait : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_TRUE(modes.choose(now, facts(false), kAll, kMiB));
    modes.judge(now, done(Mode::mixed, kMiB, Bytes{0}), facts(false), kAll, 0);
    EXPECT_TRUE(modes.unreclaimable());
    EXPECT_FALSE(modes.choose(now + wait - 1ms, facts(false), kAll, kMiB));
    EXPECT_EQ(modes.retryAt(), now + wait);
    now += wait;
  }
  modes.judge(now, done(Mode::mixed, kMiB, kMiB, 0), facts(false), kAll, 0);
  EXPECT_FALSE(modes.unreclaimable());
}

TEST(Modes, AnonymousMemoryIsTriedOnceBeforeGivingUp) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}), facts(true), kAll, 0);
  EXPECT_FALSE(modes.unreclaimable());
  EXPECT_EQ(modes.choose(kStart, facts(true), kAll, kMiB), Mode::anon);
  modes.judge(kStart, done(Mode::anon, kMiB, Bytes{0}), facts(true), kAll, 0);
  EXPECT_TRUE(modes.unreclaimable());
  EXPECT_FALSE(modes.choose(kStart, facts(true), kAll, kMiB));
}

TEST(Modes, AnErrorIsNoProgressAndNoLoop) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, kMiB, EACCES), facts(false), kAll, 0);
  EXPECT_TRUE(modes.unreclaimable());
  Modes other;
  other.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}, EINTR), facts(false), kAll, 0);
  EXPECT_FALSE(other.unreclaimable()) << "a deadline says nothing";
}

TEST(Modes, WhatIsChargedMeanwhileDoesNotHideWhatWasTaken) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}), facts(false), kAll, 500e6);
  EXPECT_FALSE(modes.unreclaimable());
}

TEST(Modes, TwoShortfallsInARowRest) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{kMiB.count / 2}), facts(false), kAll, 0);
  EXPECT_TRUE(modes.choose(kStart, facts(false), kAll, kMiB));
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{kMiB.count / 2}), facts(false), kAll, 0);
  EXPECT_FALSE(modes.choose(kStart, facts(false), kAll, kMiB));
  EXPECT_TRUE(modes.choose(kStart + kDirtyWait, facts(false), kAll, kMiB));
}

TEST(Modes, WhatRestsForDirtyPagesGoesOnOnceTheyAreClean) {
  Modes modes;
  ModeFacts dirty = facts(false);
  dirty.dirty = true;
  TimePoint now = kStart;
  for (int i = 0; i < 8; ++i, now += kLongestDirtyWait)
    modes.judge(now, done(Mode::mixed, kMiB, Bytes{0}), dirty, kAll, 0);
  now += 1ms;
  modes.judge(now, done(Mode::mixed, kMiB, Bytes{0}), dirty, kAll, 0);
  modes.seen(now, dirty);
  EXPECT_FALSE(modes.choose(now + 500ms, dirty, kAll, kMiB));
  modes.seen(now + 500ms, facts(false));
  EXPECT_TRUE(modes.choose(now + 500ms, facts(false), kAll, kMiB));
}

TEST(Modes, WhatFailedWithDirtyPagesIsNotUnreclaimable) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}), facts(false), kAll, 0);
  ASSERT_TRUE(modes.unreclaimable());
  ModeFacts dirty = facts(false);
  dirty.dirty = true;
  modes.seen(kStart + 50ms, dirty);
  EXPECT_FALSE(modes.unreclaimable());
  EXPECT_FALSE(modes.choose(kStart + 50ms, dirty, kAll, kMiB));
  EXPECT_TRUE(modes.choose(kStart + 50ms + kDirtyWait, dirty, kAll, kMiB));
}

TEST(Modes, DirtyPagesAreWaitedForBriefly) {
  Modes modes;
  ModeFacts dirty = facts(false);
  dirty.dirty = true;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}), dirty, kAll, 0);
  EXPECT_FALSE(modes.unreclaimable());
  EXPECT_FALSE(modes.choose(kStart, dirty, kAll, kMiB));
  EXPECT_TRUE(modes.choose(kStart + kDirtyWait, dirty, kAll, kMiB));
}

TEST(Modes, SharedMemoryOfADiskIsNeverSwapped) {
  Modes modes;
  ModeFacts secret = facts(true);
  secret.anonForbidden = true;
  for (int i = 0; i < 5; ++i) {
    const auto mode = modes.choose(kStart + i * 100s, secret, kAll, kMiB);
    EXPECT_EQ(mode, Mode::file);
    modes.judge(kStart + i * 100s, done(Mode::file, kMiB, Bytes{0}), secret, kAll, 0);
  }
  EXPECT_FALSE(Modes().choose(kStart, secret, Abilities{}, kMiB)) << "and without swappiness nothing is asked";
}

TEST(Modes, ALimitThatIsHitIsWorthOneTry) {
  Modes modes;
  modes.judge(kStart, done(Mode::mixed, kMiB, Bytes{0}), facts(false), kAll, 0);
  modes.wake(kStart + 10ms);
  EXPECT_TRUE(modes.choose(kStart + 10ms, facts(false), kAll, kMiB));
  modes.judge(kStart + 10ms, done(Mode::mixed, kMiB, Bytes{0}), facts(false), kAll, 0);
  modes.wake(kStart + 20ms);
  EXPECT_FALSE(modes.choose(kStart + 20ms, facts(false), kAll, kMiB)) << "not one for each hit";
}

}  // namespace
}  // namespace memqos::reclaim
