#include "control/high.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;

const loop::TimePoint kStart{std::chrono::hours(1)};

HighFacts facts(std::int64_t currentMib, std::int64_t wantedMib, std::int64_t usageMib) {
  return {currentMib < 0 ? Limit::max() : Limit(mebibytes(currentMib)), Limit(mebibytes(wantedMib)),
          mebibytes(usageMib), true, true};
}

TEST(HighControl, RaisingIsOneWrite) {
  HighControl control;
  const HighStep step = control.step(kStart, facts(100, 200, 150));
  EXPECT_EQ(step.write, Limit(mebibytes(200)));
  EXPECT_FALSE(step.reclaim);
}

TEST(HighControl, NothingToDoWhenThere) {
  HighControl control;
  const HighStep step = control.step(kStart, facts(200, 200, 150));
  EXPECT_FALSE(step.write);
  EXPECT_FALSE(step.reclaim);
  EXPECT_FALSE(step.wakeAt);
}

TEST(HighControl, LowersAtOnceWhereThereIsRoom) {
  HighControl control;
  EXPECT_EQ(control.step(kStart, facts(-1, 200, 150)).write, Limit(mebibytes(200)));
  // Exactly 8 MiB of room is enough, a page less is not.
  EXPECT_EQ(control.step(kStart, facts(-1, 200, 192)).write, Limit(mebibytes(200)));
  HighFacts tight = facts(-1, 200, 192);
  tight.usage = *tight.usage + Bytes{1};
  EXPECT_FALSE(control.step(kStart, tight).write);
}

TEST(HighControl, ReclaimsInChunksBeforeLowering) {
  HighControl control;
  HighStep step = control.step(kStart, facts(-1, 100, 150));
  EXPECT_FALSE(step.write);
  EXPECT_EQ(step.reclaim, kMiB);
  control.reclaimed(kStart + 1ms, kMiB, kMiB);
  step = control.step(kStart + 1ms, facts(-1, 100, 92));
  EXPECT_EQ(step.write, Limit(mebibytes(100)));
}

TEST(HighControl, NeverReclaimsAnEmptyCgroupAndFollowsUsageWithoutReclaim) {
  for (const bool populated : {true, false}) {
    HighControl control;
    HighFacts now = facts(-1, 100, 150);
    now.populated = populated;
    now.canReclaim = !populated;
    const HighStep step = control.step(kStart, now);
    EXPECT_FALSE(step.reclaim);
    EXPECT_EQ(step.write, Limit(mebibytes(158)));
    EXPECT_TRUE(step.wakeAt);
  }
}

TEST(HighControl, OnePercentCountsForLargeContainers) {
  EXPECT_EQ(headroomFor(mebibytes(100)), mebibytes(8));
  EXPECT_EQ(headroomFor(mebibytes(10000)), mebibytes(100));
}

TEST(HighControl, UnreadableUsageLowersNothing) {
  HighControl control;
  HighFacts now = facts(-1, 100, 0);
  now.usage.reset();
  const HighStep step = control.step(kStart, now);
  EXPECT_FALSE(step.write);
  EXPECT_EQ(step.wakeAt, kStart + 5s);
}

TEST(HighControl, TwoFruitlessChunksPause) {
  HighControl control;
  control.step(kStart, facts(-1, 100, 150));
  control.reclaimed(kStart, kMiB, Bytes{0});
  EXPECT_TRUE(control.step(kStart, facts(-1, 100, 150)).reclaim);
  control.reclaimed(kStart, kMiB, Bytes{0});
  const HighStep step = control.step(kStart, facts(-1, 100, 150));
  EXPECT_FALSE(step.reclaim);
  EXPECT_EQ(step.wakeAt, kStart + kReclaimPause);
  EXPECT_TRUE(control.step(kStart + kReclaimPause, facts(-1, 100, 150)).reclaim);
}

TEST(HighControl, NotReachedInTimeStaysWithOneEventAndIsLookedAtAgain) {
  HighControl control;
  control.step(kStart, facts(-1, 100, 150));
  HighStep step = control.step(kStart + 30s, facts(-1, 100, 150));
  EXPECT_TRUE(step.stalled);
  EXPECT_EQ(step.write, Limit(mebibytes(158)));
  EXPECT_EQ(step.wakeAt, kStart + 35s);
  step = control.step(kStart + 35s, facts(158, 100, 150));
  EXPECT_FALSE(step.stalled);
  EXPECT_FALSE(step.write);
  EXPECT_FALSE(step.reclaim);
  step = control.step(kStart + 40s, facts(158, 100, 120));
  EXPECT_FALSE(step.stalled);
  EXPECT_EQ(step.write, Limit(mebibytes(128)));
  step = control.step(kStart + 45s, facts(128, 100, 90));
  EXPECT_EQ(step.write, Limit(mebibytes(100)));
}

TEST(HighControl, ANewTargetStartsAnew) {
  HighControl control;
  control.step(kStart, facts(-1, 100, 150));
  EXPECT_TRUE(control.step(kStart + 31s, facts(-1, 100, 150)).stalled);
  EXPECT_TRUE(control.step(kStart + 32s, facts(158, 90, 150)).reclaim);
}

HighSample sample(std::int64_t currentMib, std::int64_t usageMib, std::int64_t events, std::chrono::microseconds full) {
  return {Limit(mebibytes(currentMib)), mebibytes(usageMib), events, full, Limit(mebibytes(1024))};
}

TEST(ThrottleEscape, NeedsStallEventsAndUsage) {
  struct Row {
    const char* name;
    HighSample second;
    bool escapes;
  };
  const std::vector<Row> rows = {{"all three", sample(200, 199, 20, 1500ms), true},
                                 {"stall exactly 20 %", sample(200, 199, 20, 1000ms), false},
                                 {"no new events", sample(200, 199, 10, 1500ms), false},
                                 {"usage below 98 %", sample(200, 195, 20, 1500ms), false}};
  for (const Row& row : rows) {
    HighControl control;
    EXPECT_FALSE(control.escape(kStart, sample(200, 199, 10, 0ms)));
    const auto raised = control.escape(kStart + 5s, row.second);
    EXPECT_EQ(raised.has_value(), row.escapes) << row.name;
    EXPECT_EQ(raised.value_or(Limit(mebibytes(264))), Limit(mebibytes(264))) << row.name;
  }
}

TEST(ThrottleEscape, DoublesEveryFiveSecondsUpToMax) {
  HighControl control;
  control.escape(kStart, sample(200, 200, 0, 0ms));
  EXPECT_EQ(control.escape(kStart + 5s, sample(200, 200, 5, 2s)), Limit(mebibytes(264)));
  EXPECT_EQ(control.escape(kStart + 10s, sample(264, 264, 10, 4s)), Limit(mebibytes(264 + 128)));
  EXPECT_EQ(control.escape(kStart + 15s, sample(392, 392, 15, 6s)), Limit(mebibytes(392 + 256)));
  EXPECT_EQ(control.escape(kStart + 20s, sample(648, 648, 20, 8s)), Limit::max());
  EXPECT_EQ(control.escapes(), 1U);
}

TEST(ThrottleEscape, HoldsThenLowersAndEachFurtherOneHoldsTwiceAsLong) {
  HighControl control;
  loop::TimePoint now = kStart;
  loop::Duration expected = 10min;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t events = i * 10;
    control.escape(now, sample(200, 200, events, 0ms));
    now += 5s;
    ASSERT_TRUE(control.escape(now, sample(200, 200, events + 5, 2s)));
    EXPECT_EQ(control.held(now + expected - 1s), Limit(mebibytes(264)));
    // While it holds the Plan's value is not lowered to, and the end of the hold is a wake-up.
    const HighStep held = control.step(now, {Limit(mebibytes(264)), Limit(mebibytes(200)), mebibytes(200), true, true});
    EXPECT_FALSE(held.write);
    EXPECT_EQ(held.wakeAt, now + expected);
    now += expected;
    EXPECT_FALSE(control.held(now));
    EXPECT_TRUE(control.step(now, {Limit(mebibytes(264)), Limit(mebibytes(200)), mebibytes(200), true, true}).reclaim);
    control.escape(now, sample(200, 100, events + 5, 2s));  // calm in between
    now += 5s;
    expected = std::min<loop::Duration>(expected * 2, 24h);
  }
}

TEST(ThrottleEscape, APlanAboveTheHeldValueWins) {
  HighControl control;
  control.escape(kStart, sample(200, 200, 0, 0ms));
  control.escape(kStart + 5s, sample(200, 200, 5, 2s));
  EXPECT_EQ(control.step(kStart + 6s, facts(264, 500, 200)).write, Limit(mebibytes(500)));
}

TEST(ThrottleEscape, MaxIsNeverEscaped) {
  HighControl control;
  HighSample first = sample(200, 200, 0, 0ms);
  first.current = Limit::max();
  control.escape(kStart, first);
  HighSample second = sample(200, 200, 50, 4s);
  second.current = Limit::max();
  EXPECT_FALSE(control.escape(kStart + 5s, second));
}

}  // namespace
}  // namespace memqos::control
