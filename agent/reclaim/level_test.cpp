#include "reclaim/level.h"

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart(1h);

// A level that grows evenly by `rate` for a while and ends at `end`.
Level grown(Bytes limit, Bytes end, double rate) {
  Level level({limit});
  TimePoint now = kStart;
  for (int i = 200; i >= 0; --i, now += 10ms) level.observe(now, end - grownIn(rate, 10ms * i), Bytes{0});
  return level;
}

TEST(Growth, IsWhatIsChargedWhateverReclaimTakes) {
  Growth growth;
  TimePoint now = kStart;
  Bytes level = mebibytes(10);
  for (int i = 0; i < 100; ++i, now += 10ms) growth.observe(now, level, kMiB);
  EXPECT_NEAR(growth.bytesPerSecond(), 100.0 * static_cast<double>(kMiB.count), 1e6);
}

TEST(Growth, ShrinkingLeavesNoDebt) {
  Growth growth;
  growth.observe(kStart, mebibytes(100), Bytes{0});
  growth.observe(kStart + 10ms, mebibytes(10), Bytes{0});
  EXPECT_EQ(growth.bytesPerSecond(), 0);
  growth.observe(kStart + 110ms, mebibytes(20), Bytes{0});
  EXPECT_GT(growth.bytesPerSecond(), 50e6);
}

struct MarkCase {
  std::int64_t limit;     // MiB
  std::int64_t headroom;  // MiB, at full growth
};
class Marks_ : public ::testing::TestWithParam<MarkCase> {};
TEST_P(Marks_, HeadroomAtFullGrowth) {
  const Bytes limit = mebibytes(GetParam().limit);
  const Marks marks = grown(limit, Bytes{limit.count / 2}, 100e9).marks();
  EXPECT_EQ(marks.headroom, mebibytes(GetParam().headroom));
  EXPECT_EQ(marks.start, limit - marks.headroom);
  EXPECT_LT(marks.stop, marks.start);
  EXPECT_LT(marks.start, marks.urgent);
  EXPECT_LT(marks.urgent, limit);
}
INSTANTIATE_TEST_SUITE_P(Sizes, Marks_,
                         ::testing::Values(MarkCase{16, 4}, MarkCase{64, 16}, MarkCase{128, 32}, MarkCase{1024, 256}));

TEST(Level, WithoutGrowthTheHeadroomIsSmall) {
  for (const std::int64_t limit : {16, 64, 1024, 65536}) {
    Level level({mebibytes(limit)});
    level.observe(kStart, mebibytes(1), Bytes{0});
    EXPECT_EQ(level.marks().headroom, std::max(kMiB, Bytes{mebibytes(limit).count / 64}));
  }
}

TEST(Level, StartsAboveOneMarkAndStopsBelowTheOther) {
  Level level({mebibytes(64)});
  const Marks marks = level.marks();
  level.observe(kStart, marks.start, Bytes{0});
  EXPECT_FALSE(level.target());
  level.observe(kStart + 10s, marks.start + kPage, Bytes{0});
  ASSERT_TRUE(level.target());
  EXPECT_LE(*level.target(), marks.stop);
  level.observe(kStart + 20s, marks.stop + kPage, Bytes{0});
  EXPECT_TRUE(level.target());
  level.observe(kStart + 30s, marks.stop, Bytes{0});
  EXPECT_FALSE(level.target());
}

TEST(Level, FixedMarksStay) {
  Level level({mebibytes(64), mebibytes(40), mebibytes(30)});
  TimePoint now = kStart;
  for (int i = 0; i < 40; ++i, now += 10ms) level.observe(now, mebibytes(10 + i), Bytes{0});
  EXPECT_EQ(level.marks().start, mebibytes(40));
  EXPECT_EQ(level.marks().stop, mebibytes(30));
  EXPECT_EQ(level.target(), mebibytes(30));
}

TEST(Level, LimitHitsWidenHotRefaultsNarrow) {
  Level level({mebibytes(64)});
  TimePoint now = kStart;
  const Bytes first = level.marks().headroom;
  for (int i = 0; i < 20; ++i, now += 500ms) level.adapt(now, {true, 1000, 0});
  const Bytes wide = level.marks().headroom;
  EXPECT_EQ(wide, mebibytes(32));  // half of the limit
  for (int i = 0; i < 40; ++i, now += 500ms) level.adapt(now, {true, 1000, 100});
  EXPECT_EQ(level.marks().headroom, wide) << "too small a limit: neither helps";
  for (int i = 0; i < 4; ++i, now += 500ms) level.adapt(now, {false, 1000, 100});
  EXPECT_LT(level.marks().headroom, wide);
  for (int i = 0; i < 40; ++i, now += 500ms) level.adapt(now, {false, 1000, 100});
  EXPECT_EQ(level.marks().headroom, first);
}

TEST(Level, AFewHotPagesAmongManyColdOnesNarrowItToo) {
  Level level({mebibytes(64)});
  TimePoint now = kStart;
  for (int i = 0; i < 20; ++i, now += 500ms) level.adapt(now, {true, 1000, 0});
  const Bytes wide = level.marks().headroom;
  level.adapt(now += 500ms, {false, 20000, 4});
  EXPECT_EQ(level.marks().headroom, wide);
  level.adapt(now += 500ms, {false, 20000, 5});
  EXPECT_LT(level.marks().headroom, wide);
}

TEST(Level, DriftsBackWhenNothingHappens) {
  Level level({mebibytes(64)});
  TimePoint now = kStart;
  for (int i = 0; i < 20; ++i, now += 500ms) level.adapt(now, {true, 0, 0});
  const Bytes wide = level.marks().headroom;
  for (int i = 0; i < 58; ++i, now += 500ms) level.adapt(now, {});
  EXPECT_EQ(level.marks().headroom, wide) << "half a minute of calm first";
  for (int i = 0; i < 24; ++i, now += 500ms) level.adapt(now, {});
  EXPECT_LT(level.marks().headroom, wide);
  EXPECT_GT(level.marks().headroom.count, wide.count * 8 / 10);
}

TEST(Level, IsLookedAtByDistanceAndGrowth) {
  Level calm({mebibytes(64)});
  EXPECT_EQ(calm.pollAfter(true), Duration(kShortestPoll)) << "its growth is not known yet";
  for (int i = 0; i < 3; ++i) calm.observe(kStart + i * 1s, mebibytes(10), Bytes{0});
  EXPECT_EQ(calm.pollAfter(true), Duration(kLongestPoll));
  const Level near = grown(mebibytes(64), mebibytes(60), 100e6);
  EXPECT_TRUE(near.wantsFast());
  EXPECT_EQ(near.pollAfter(false), Duration(kShortestPoll));
  EXPECT_EQ(near.pollAfter(true), Duration(kFastestPoll));
  const Level far = grown(mebibytes(1024), mebibytes(512), 1e6);
  EXPECT_GT(far.pollAfter(true), Duration(1s));
}

TEST(Level, AnotherLimitStartsAnew) {
  Level level({mebibytes(64)});
  for (int i = 0; i < 20; ++i) level.adapt(kStart + 500ms * i, {true, 0, 0});
  level.configure({mebibytes(64), mebibytes(50)});
  EXPECT_EQ(level.marks().start, mebibytes(50));
  level.configure({mebibytes(128)});
  EXPECT_EQ(level.marks().headroom, mebibytes(2));
}

}  // namespace
}  // namespace memqos::reclaim
