// The engine drives simulated cgroups: what it promises must hold for every state they can be in.
#include "reclaim/fake_world.h"

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

Wanted watermark(How how = How::watermark) {
  Wanted out;
  out.how = how;
  return out;
}

FakeCgroup streaming(Bytes limit, double rate = 200e6) {
  FakeCgroup out;
  out.limit = limit;
  out.anon = mebibytes(2);
  out.reads = rate;
  return out;
}

// 112 MiB with that much heap, which may be swapped out.
FakeCgroup streamBesideHeap(Bytes heap, double rate = 200e6) {
  FakeCgroup out = streaming(mebibytes(112), rate);
  out.anon = heap;
  out.swapMost = mebibytes(256);
  return out;
}

std::int64_t hitsWithout(FakeCgroup group, Duration time) {
  for (Duration at{}; at < time; at += 250us) group.advance(0.00025);
  return group.hits;
}

class Streams : public ::testing::TestWithParam<std::int64_t> {};
TEST_P(Streams, HardlyEverHitTheirLimit) {
  FakeWorld world;
  const FakeCgroup group = streaming(mebibytes(GetParam()));
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(10s);
  EXPECT_LE(cgroup.hits * 100, hitsWithout(group, 10s)) << cgroup.hits;
  EXPECT_GT(cgroup.hits + cgroup.kernelWrites, 0);
  // It does not empty the container either: half of it is the most that the headroom and the look ahead may take.
  EXPECT_GE(cgroup.least, Bytes{cgroup.limit.count * 3 / 8});
  EXPECT_EQ(world.view(1).state == State::unreclaimable, false);
}
INSTANTIATE_TEST_SUITE_P(Sizes, Streams, ::testing::Values(16, 64, 512));

// A writer that the disk holds up writes in bursts: each is over before a look that only follows its growth.
TEST(Simulation, WhatGrowsInBurstsIsSeenInTime) {
  FakeWorld world;
  FakeCgroup& cgroup = world.add(streaming(mebibytes(16), 0), watermark());
  world.begin();
  for (int i = 0; i < 40; ++i) {
    cgroup.reads = 120e6;
    world.run(110ms);
    cgroup.reads = 0;
    world.run(300ms);
  }
  EXPECT_EQ(cgroup.hits, 0);
  // What has calmed down is not looked at as if it had not.
  const int looks = world.looks;
  world.run(60s);
  EXPECT_LE(world.looks - looks, 200);
}

TEST(Simulation, WhatFitsItsLimitIsLeftAlone) {
  FakeWorld world;
  FakeCgroup group;
  group.anon = mebibytes(30);
  group.clean = mebibytes(30);
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(10min);
  EXPECT_EQ(cgroup.kernelWrites, 0);
  EXPECT_LE(world.looks, 130);
  EXPECT_LE(world.stats, 15);
  EXPECT_LE(world.steps, 300);
}

// Room for growth that is expected is made of page cache. Heap is swapped out as far as limit hits ask for it, no
// further.
TEST(Simulation, HeapIsNotSwappedOutInAdvance) {
  FakeWorld world;
  world.node.swapTotal = world.node.swapFree = mebibytes(256);
  const FakeCgroup group = streamBesideHeap(mebibytes(80));
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(10s);
  EXPECT_GE(cgroup.anon, mebibytes(74));
  EXPECT_LE(cgroup.hits * 100, hitsWithout(group, 10s));
}

// Where heap leaves little room, all that is cold in the page cache is taken at a time, not a little again and again:
// between two rounds half of the room is filled.
TEST(Simulation, LittlePageCacheIsGivenTimeBetweenRounds) {
  FakeWorld world;
  world.node.swapTotal = world.node.swapFree = mebibytes(256);
  const FakeCgroup group = streamBesideHeap(mebibytes(88), 100e6);
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(10s);
  EXPECT_LE(cgroup.hits * 100, hitsWithout(group, 10s));
  EXPECT_LE(cgroup.kernelWrites, 350) << "for 1 GB: rounds of 8 MiB, of two writes each";
  EXPECT_GE(cgroup.anon, mebibytes(86));
}

// What a stream has read ahead and not used yet is not what is cold.
TEST(Simulation, WhatIsReadAheadIsLeft) {
  for (const std::int64_t ahead : {0, 16}) {
    FakeWorld world({true, true, mebibytes(1), 2, true, mebibytes(ahead)});
    world.node = {mebibytes(256), mebibytes(256)};
    const FakeCgroup group = streamBesideHeap(mebibytes(80), 100e6);
    FakeCgroup& cgroup = world.add(group, watermark());
    world.begin();
    world.run(10s);
    EXPECT_EQ(cgroup.least >= mebibytes(80 + 15), ahead > 0) << cgroup.least.count;
    EXPECT_GE(cgroup.least, mebibytes(80 + 6));
    EXPECT_LE(cgroup.hits * 100, hitsWithout(group, 10s));
  }
}

// The classic LRU would take heap in use as well, if it were asked for whatever it likes.
TEST(Simulation, WithoutGenerationsPageCacheIsAskedForWhereThereIsMuch) {
  for (const bool generations : {true, false}) {
    FakeWorld world({true, true, mebibytes(1), 2, generations});
    world.node = {mebibytes(256), mebibytes(256)};
    const FakeCgroup group = streamBesideHeap(mebibytes(40));
    FakeCgroup& cgroup = world.add(group, watermark());
    world.begin();
    world.run(10s);
    EXPECT_EQ(cgroup.modes[Mode::file] > cgroup.modes[Mode::mixed], !generations);
    EXPECT_EQ(cgroup.anon, mebibytes(40));
    EXPECT_LE(cgroup.hits * 100, hitsWithout(group, 10s));
  }
}

// Page cache that comes faster than heap could be swapped out.
TEST(Simulation, NearTheLimitPageCacheIsAskedForAlone) {
  for (const double bytesPerSecond : {3e6, 1e9}) {
    FakeWorld world;
    world.node = {mebibytes(256), mebibytes(256)};
    FakeCgroup& cgroup = world.add(streamBesideHeap(mebibytes(40), bytesPerSecond), watermark());
    world.begin();
    world.run(60s);
    EXPECT_EQ(cgroup.modes[Mode::file] > 0, bytesPerSecond > 1e8) << bytesPerSecond;
    EXPECT_GT(cgroup.modes[Mode::mixed], 0) << bytesPerSecond;
  }
}

// A node that is too busy for them: nothing is looked at more often meanwhile.
TEST(Simulation, SlowLooksThatComeLateAreWaitedFor) {
  FakeWorld world;
  world.statDelay = 4s;
  FakeCgroup group;
  group.anon = mebibytes(60);
  world.add(group, watermark());
  world.begin();
  world.run(10min);
  EXPECT_LE(world.looks, 150);
}

TEST(Simulation, BetweenTheMarksNothingSwings) {
  FakeWorld world;
  FakeCgroup group = streaming(mebibytes(64), 1e6);
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(2min);
  const int before = cgroup.kernelWrites;
  const Bytes least = cgroup.least;
  EXPECT_EQ(cgroup.hits, 0);
  world.run(2min);
  // 120 MB were charged; a round takes at least the distance of the marks.
  EXPECT_LE(cgroup.kernelWrites - before, 200);
  EXPECT_GE(least, mebibytes(56));
  EXPECT_GE(cgroup.least + Bytes{256 * 1024}, least);
}

TEST(Simulation, WhatCannotBeTakenIsNotAskedForInALoop) {
  FakeWorld world;
  FakeCgroup group;
  group.anon = mebibytes(20);
  group.locked = mebibytes(40);
  group.clean = mebibytes(0);
  group.staleFile = mebibytes(8);  // memory.stat says that there is something
  group.anon += mebibytes(3) + Bytes{kMiB.count / 2};
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(10min);
  EXPECT_LE(cgroup.kernelWrites, 20);
  EXPECT_GE(cgroup.kernelWrites, 1);
  EXPECT_EQ(world.view(1).state, State::unreclaimable);
  EXPECT_LE(world.steps, 2000);
  // And it is noticed when that changes.
  cgroup.clean = mebibytes(8);
  cgroup.anon -= mebibytes(8);
  world.run(2min);
  EXPECT_NE(world.view(1).state, State::unreclaimable);
}

TEST(Simulation, ALostBetOnFilePagesCostsOneWriteForEachBackOff) {
  FakeWorld world;
  world.node = {mebibytes(512), mebibytes(512), true};
  FakeCgroup group;
  group.anon = mebibytes(20);
  group.clean = mebibytes(30);
  group.swapMost = mebibytes(64);
  group.stuckFile = true;
  group.reads = 2e6;
  Wanted wanted = watermark(How::off);
  wanted.cacheLimit = mebibytes(24);
  FakeCgroup& cgroup = world.add(group, wanted);
  world.begin();
  world.run(2min);
  EXPECT_LE(cgroup.modes[Mode::file], 12);
  EXPECT_GE(cgroup.modes[Mode::file], 2);
  EXPECT_LE(cgroup.clean, mebibytes(24));
}

TEST(Simulation, TheFloorIsNeverCrossed) {
  for (const std::int64_t floor : {0, 20, 40, 50, 60, 64}) {
    FakeWorld world;
    FakeCgroup group = streaming(mebibytes(64));
    group.mapped = mebibytes(1);
    group.clean = mebibytes(10);
    Wanted wanted = watermark();
    wanted.floor = mebibytes(floor);
    FakeCgroup& cgroup = world.add(group, wanted);
    world.begin();
    world.run(5s);
    EXPECT_GE(cgroup.least, mebibytes(floor));
    EXPECT_EQ(world.view(1).state == State::floorAboveMark, floor == 64) << floor;
  }
}

TEST(Simulation, DirtyPagesAreWaitedForNotFoughtFor) {
  FakeWorld world;
  FakeCgroup group;
  group.anon = mebibytes(2);
  group.writes = 60e6;
  group.cleans = 30e6;
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(20s);
  int failed = 0;
  for (const auto& [key, count] : world.view(1).counters.writes) {
    if (key.second == "again") failed += static_cast<int>(count);
  }
  EXPECT_LE(failed, 400);
  EXPECT_GT(cgroup.kernelWrites, 0);
}

TEST(Simulation, ColdAnonymousMemoryGoesToSwapWhereItMay) {
  for (const bool shmem : {false, true}) {
    FakeWorld world;
    world.node = {mebibytes(512), mebibytes(512), !shmem};  // with shared memory: a disk
    FakeCgroup group;
    group.anon = mebibytes(50);
    group.shmem = shmem ? mebibytes(1) : Bytes{};
    group.allocates = 1e6;
    group.swapMost = mebibytes(256);
    FakeCgroup& cgroup = world.add(group, watermark());
    world.begin();
    world.run(60s);
    EXPECT_EQ(cgroup.swapMost < mebibytes(256) && cgroup.hits == 0, !shmem) << cgroup.hits;
    EXPECT_EQ(cgroup.modes[Mode::anon] + cgroup.modes[Mode::mixed] > 0, !shmem);
  }
}

TEST(Simulation, WhatIsWantedBackAtOnceIsNotTakenForEver) {
  FakeWorld world;
  FakeCgroup group = streaming(mebibytes(64), 5e6);
  group.clean = mebibytes(50);
  group.hotShare = 0.9;
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(60s);
  const int writes = cgroup.kernelWrites;
  FakeWorld calm;
  group.hotShare = 0;
  FakeCgroup& other = calm.add(group, watermark());
  calm.begin();
  calm.run(60s);
  EXPECT_LT(writes, 300);
  EXPECT_GT(other.kernelWrites, 20);
  EXPECT_EQ(world.view(1).state, State::unreclaimable);  // urgent, and paused
}

TEST(Simulation, APageCacheLimitHolds) {
  FakeWorld world;
  FakeCgroup group = streaming(mebibytes(512), 300e6);
  group.anon = mebibytes(100);
  group.clean = group.mapped = mebibytes(40);
  Wanted wanted = watermark(How::off);
  wanted.cacheLimit = mebibytes(32);
  FakeCgroup& cgroup = world.add(group, wanted);
  world.begin();
  int over = 0;
  for (int i = 0; i < 1000; ++i) {
    world.run(10ms);
    over += i > 5 && cgroup.clean + cgroup.dirty - cgroup.mapped > mebibytes(36) ? 1 : 0;
  }
  EXPECT_LE(over, 10);
  EXPECT_GT(cgroup.kernelWrites, 100);
  EXPECT_EQ(cgroup.anon, mebibytes(100));
}

// Nothing wakes the engine there.
TEST(Simulation, AStreamThatBeginsAfterALongCalmIsSeenSoon) {
  FakeWorld world;
  FakeCgroup group = streaming(mebibytes(2048), 0);
  group.clean = mebibytes(10);
  Wanted wanted = watermark(How::off);
  wanted.cacheLimit = mebibytes(32);
  FakeCgroup& cgroup = world.add(group, wanted);
  world.begin();
  world.run(10min);
  EXPECT_LE(world.looks, 10 * 60 * 5 + 100);
  cgroup.reads = 300e6;
  Bytes most;
  for (int i = 0; i < 200; ++i) {
    world.run(5ms);
    most = std::max(most, cgroup.clean);
  }
  EXPECT_LE(most, mebibytes(110));
}

TEST(Simulation, APodsLimitIsKeptByItsContainersTogether) {
  FakeWorld world;
  world.pods = {{99, mebibytes(64)}};
  for (const cgroup::Id id : {1U, 2U}) {
    FakeCgroup group = streaming(mebibytes(60), id == 1 ? 50e6 : 10e6);
    group.id = id;
    Wanted wanted = watermark();
    wanted.pod = 99;
    world.add(group, wanted);
  }
  world.begin();
  int over = 0;
  for (int i = 0; i < 1000; ++i) {
    world.run(10ms);
    over += i > 100 && world.at(1).usage() + world.at(2).usage() > mebibytes(64) ? 1 : 0;
  }
  EXPECT_LE(over, 10);
}

TEST(Simulation, NobodyStarvesAmongAThousand) {
  FakeWorld world;
  for (unsigned i = 1; i <= 1000; ++i) {
    // A third of them is always urgent.
    FakeCgroup group = streaming(mebibytes(64), i % 3 == 0 ? 4e6 : 0.1e6);
    group.id = i;
    group.clean = mebibytes(61);
    world.add(group, watermark());
  }
  world.bytesPerSecond = 2e9;
  world.begin();
  world.run(10s);
  int never = 0;
  for (const auto& [id, group] : world.cgroups) never += group.kernelWrites == 0 ? 1 : 0;
  EXPECT_EQ(never, 0);
}

TEST(Simulation, AThousandIdleOnesCostLittle) {
  FakeWorld world;
  for (unsigned i = 1; i <= 1000; ++i) {
    FakeCgroup group;
    group.id = i;
    group.clean = mebibytes(20);
    world.add(group, watermark());
  }
  world.begin();
  world.run(60s);
  EXPECT_LE(world.looks, 14'000);
  EXPECT_LE(world.stats, 2'100);
}

TEST(Simulation, NothingIsWrittenWhereNobodyIs) {
  FakeWorld world;
  FakeCgroup group = streaming(mebibytes(64));
  group.populated = false;
  FakeCgroup& cgroup = world.add(group, watermark());
  world.begin();
  world.run(2s);
  EXPECT_EQ(cgroup.kernelWrites, 0);
  EXPECT_LT(world.steps, 2'000);
}

TEST(Simulation, WithoutALimitALittleIsTrimmed) {
  FakeWorld world;
  FakeCgroup group;
  group.limit = mebibytes(100'000);
  group.clean = mebibytes(1000);
  Wanted wanted = watermark(How::pressure);
  FakeCgroup& cgroup = world.add(group, wanted);
  world.begin();
  world.run(60s);
  EXPECT_GE(cgroup.usage(), mebibytes(990));
  EXPECT_LE(cgroup.usage(), mebibytes(996));
}

}  // namespace
}  // namespace memqos::reclaim
