#include "reclaim/round.h"

#include <cerrno>

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

// A cgroup whose every write frees `factor` times what is asked, until nothing is left.
class Scripted final : public Hands {
 public:
  TimePoint now() override { return now_; }
  bool populated() override { return populatedFor-- > 0; }
  std::optional<Bytes> usage() override { return level; }
  std::optional<Bytes> cache() override { return level - outside; }
  Write write(Bytes amount, Mode mode) override {
    asked.push_back(amount);
    lastMode = mode;
    Write out;
    out.before = level;
    const Bytes freed =
        std::min(available, Bytes{static_cast<std::int64_t>(static_cast<double>(amount.count) * factor)});
    available -= freed;
    level -= freed;
    out.after = level;
    out.sysErrno = failWith != 0 ? failWith : freed < amount ? EAGAIN : 0;
    out.wall = wall;
    out.cpu = cpu;
    now_ += wall;
    return out;
  }

  Bytes level = mebibytes(64), available = mebibytes(64), outside{};
  double factor = 1;
  Duration wall = 1ms, cpu = 1ms;
  int failWith = 0;
  int populatedFor = 1000;
  std::vector<Bytes> asked;
  Mode lastMode = Mode::mixed;

 private:
  TimePoint now_{1h};
};

Job job(Bytes target, Bytes amount = kMostRound) {
  Job out;
  out.target = target;
  out.amount = amount;
  return out;
}

TEST(Round, GoesDownToItsTargetInSmallWrites) {
  Scripted hands;
  const Done done = run(job(mebibytes(56)), hands);
  EXPECT_LE(hands.level, mebibytes(56) + kLeastChunk);
  EXPECT_GE(hands.level, mebibytes(56));
  EXPECT_GE(hands.asked.size(), 4U);
  EXPECT_EQ(done.taken, mebibytes(64) - hands.level);
  EXPECT_EQ(done.results.at("ok"), hands.asked.size());
}

TEST(Round, TakesNoMoreThanItMay) {
  Scripted hands;
  run(job(Bytes{0}, mebibytes(3)), hands);
  EXPECT_GE(hands.level, mebibytes(61));
}

TEST(Round, EndsInTime) {
  Scripted hands;
  hands.wall = hands.cpu = 9ms;
  const Done done = run(job(Bytes{0}), hands);
  EXPECT_LE(done.wall, kLongestRound + 10ms);
}

TEST(Round, AKernelThatTakesTwiceAsMuchDoesNotCrossTheFloor) {
  for (const double factor : {1.0, 1.75, 2.0}) {
    Scripted hands;
    hands.factor = factor;
    Job one = job(mebibytes(60));
    one.floor = mebibytes(60);
    for (int i = 0; i < 10; ++i) {
      const Done done = run(one, hands);
      one.pace = done.pace;
      EXPECT_GE(hands.level, mebibytes(60));
    }
    EXPECT_LE(hands.level, mebibytes(60) + Bytes{2 * kLeastChunk.count});
  }
}

TEST(Round, AsksForHalfWhereTheKernelOvershoots) {
  ChunkPace pace(kMiB);
  for (int i = 0; i < 8; ++i) pace.observe(kMiB, mebibytes(2), 6ms, 6ms);
  EXPECT_EQ(pace.next(mebibytes(16)), Bytes{kMiB.count / 2});
}

TEST(Round, StopsAtTheFirstShortfall) {
  Scripted hands;
  hands.available = mebibytes(2);
  const Done done = run(job(mebibytes(32)), hands);
  EXPECT_EQ(done.sysErrno, EAGAIN);
  EXPECT_EQ(done.results.at("again"), 1U);
  EXPECT_LT(done.lastGot, done.lastAsked);
}

TEST(Round, NeverWritesWhereNobodyIs) {
  Scripted hands;
  hands.populatedFor = 0;
  EXPECT_TRUE(run(job(mebibytes(32)), hands).unpopulated);
  EXPECT_TRUE(hands.asked.empty());
  hands.populatedFor = 2;  // it empties in the middle
  EXPECT_TRUE(run(job(mebibytes(32)), hands).unpopulated);
  EXPECT_EQ(hands.asked.size(), 2U);
}

TEST(Round, AGoneCgroupIsNoError) {
  Scripted hands;
  hands.failWith = ENODEV;
  const Done done = run(job(mebibytes(32)), hands);
  EXPECT_TRUE(done.gone);
  EXPECT_EQ(done.results.at("gone"), 1U);
}

TEST(Round, BringsPageCacheDownNotUsage) {
  Scripted hands;
  hands.outside = mebibytes(40);  // anonymous
  Job one = job(mebibytes(20));
  one.what = What::cache;
  one.mode = Mode::file;
  const Done done = run(one, hands);
  EXPECT_EQ(hands.lastMode, Mode::file);
  ASSERT_TRUE(done.cache);
  EXPECT_LE(*done.cache, mebibytes(20) + kLeastChunk);
  EXPECT_GE(*done.cache, mebibytes(20));
}

TEST(ChunkPace, KeepsWritesShort) {
  ChunkPace pace(mebibytes(4));
  pace.observe(mebibytes(4), mebibytes(4), 20ms, 20ms);
  EXPECT_EQ(pace.chunk(), mebibytes(2));
  for (int i = 0; i < 20; ++i) pace.observe(pace.chunk(), pace.chunk(), 1ms, 1ms);
  EXPECT_EQ(pace.chunk(), kMostChunk);
  for (int i = 0; i < 20; ++i) pace.observe(pace.chunk(), pace.chunk(), 1s, 1ms);
  EXPECT_EQ(pace.chunk(), kLeastChunk);
  EXPECT_EQ(pace.next(kPage), kPage);
}

TEST(ChunkPace, AWriteThatWasKeptFromRunningIsLong) {
  ChunkPace pace(mebibytes(4));
  pace.observe(mebibytes(4), mebibytes(4), 8ms, 2ms);
  EXPECT_EQ(pace.chunk(), mebibytes(2));
}

TEST(Results, AreWords) {
  EXPECT_EQ(resultOf(0), "ok");
  EXPECT_EQ(resultOf(EAGAIN), "again");
  EXPECT_EQ(resultOf(ENOENT), "gone");
  EXPECT_EQ(resultOf(EINTR), "interrupted");
  EXPECT_EQ(resultOf(EBUSY), "failed");
}

}  // namespace
}  // namespace memqos::reclaim
