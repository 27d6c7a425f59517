#include "reclaim/engine.h"

#include <cerrno>

#include "reclaim/fake_world.h"

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart(1h);

Wanted wanted(cgroup::Id id, How how = How::watermark) {
  Wanted out;
  out.id = id;
  out.how = how;
  out.limit = mebibytes(64);
  return out;
}

Stat statOf(cgroup::Id id, TimePoint at, Bytes usage) {
  Stat out;
  out.id = id;
  out.at = at;
  out.usage = usage;
  out.memory.file = out.memory.inactiveFile = usage;
  return out;
}

// One that has been looked at once, with that much page cache.
Engine seen(const std::vector<cgroup::Id>& ids, Bytes usage, Abilities can = {true, true, mebibytes(1), 2}) {
  Engine engine(can);
  std::vector<Wanted> all;
  for (const cgroup::Id id : ids) all.push_back(wanted(id));
  engine.want(kStart, all, {});
  const Step first = engine.step(kStart, {});
  EXPECT_EQ(first.stats, ids);
  EXPECT_TRUE(first.jobs.empty()) << "nothing is decided blindly";
  Inputs inputs;
  for (const cgroup::Id id : ids) inputs.stats.push_back(statOf(id, kStart, usage));
  EXPECT_EQ(engine.step(kStart + 1ms, inputs).jobs.size(), 0U);
  return engine;
}

Step usages(Engine& engine, TimePoint now, const std::vector<std::pair<cgroup::Id, Bytes>>& values) {
  Inputs inputs;
  for (const auto& [id, value] : values) inputs.usages.push_back({id, value});
  return engine.step(now, inputs);
}

TEST(Engine, AsksForNothingWhereNothingIsWanted) {
  Engine engine({});
  engine.want(kStart, {}, {});
  EXPECT_TRUE(engine.due(kStart).empty());
  const Step step = engine.step(kStart, {});
  EXPECT_FALSE(step.wakeAt);
  EXPECT_TRUE(step.stats.empty() && step.jobs.empty());
}

TEST(Engine, ARoundIsOneItemOfWorkForEachContainer) {
  Engine engine = seen({1}, mebibytes(20));
  const Step step = usages(engine, kStart + 400ms, {{1, mebibytes(64)}});
  ASSERT_EQ(step.jobs.size(), 1U);
  EXPECT_TRUE(step.jobs[0].urgent);
  EXPECT_LE(step.jobs[0].amount, kMostRound);
  EXPECT_TRUE(engine.due(kStart + 20s).empty()) << "it is not looked at while its round runs";
  EXPECT_TRUE(usages(engine, kStart + 20s, {{1, mebibytes(64)}}).jobs.empty());
}

TEST(Engine, UrgentOnesComeFirstAndWorkersAreFew) {
  Engine engine = seen({1, 2, 3, 4}, mebibytes(20));
  const Bytes over = mebibytes(63) + Bytes{kMiB.count / 4};
  const Step step = usages(engine, kStart + 400ms, {{1, over}, {2, over}, {3, mebibytes(64)}, {4, over}});
  ASSERT_EQ(step.jobs.size(), 2U);
  EXPECT_EQ(step.jobs[0].id, 3U);
  EXPECT_EQ(step.jobs[1].id, 1U);
  Inputs inputs;
  Done done;
  done.job = step.jobs[0];
  done.usage = mebibytes(60);
  done.writes = {1ms};
  inputs.done.push_back(done);
  const Step next = engine.step(kStart + 405ms, inputs);
  ASSERT_EQ(next.jobs.size(), 1U);
  EXPECT_EQ(next.jobs[0].id, 2U);
}

TEST(Engine, ALaneThatRefusesIsAskedAgainLater) {
  Engine engine = seen({1}, mebibytes(20));
  const Step step = usages(engine, kStart + 400ms, {{1, mebibytes(64)}});
  ASSERT_EQ(step.jobs.size(), 1U);
  Inputs inputs;
  Done done;
  done.job = step.jobs[0];
  done.ran = false;
  inputs.done.push_back(done);
  EXPECT_TRUE(engine.step(kStart + 400ms, inputs).jobs.empty());
  EXPECT_EQ(usages(engine, kStart + 500ms, {{1, mebibytes(64)}}).jobs.size(), 1U);
}

TEST(Engine, AnOldPictureIsTakenAnewBeforeMuchIsTaken) {
  Engine engine = seen({1}, mebibytes(20));
  const Step step = usages(engine, kStart + 10s, {{1, mebibytes(64)}});
  EXPECT_TRUE(step.jobs.empty());
  EXPECT_EQ(step.stats, (std::vector<cgroup::Id>{1}));
  Inputs inputs;
  inputs.stats.push_back(statOf(1, kStart + 10s + 5ms, mebibytes(64)));
  EXPECT_EQ(engine.step(kStart + 10s + 5ms, inputs).jobs.size(), 1U);

  Engine late = seen({1}, mebibytes(20));
  EXPECT_TRUE(usages(late, kStart + 10s, {{1, mebibytes(64)}}).jobs.empty());
  EXPECT_EQ(usages(late, kStart + 10s + 150ms, {{1, mebibytes(64)}}).jobs.size(), 1U) << "a late one is not waited for";
}

TEST(Engine, AnArgumentThatTheKernelRefusesIsNotTriedAgain) {
  Engine engine = seen({1}, mebibytes(20));
  Inputs inputs;
  Done done;
  done.job.id = 1;
  done.job.mode = Mode::file;
  done.sysErrno = EINVAL;
  inputs.done.push_back(done);
  engine.step(kStart + 10ms, inputs);
  EXPECT_FALSE(engine.abilities().swappiness);
  EXPECT_TRUE(engine.abilities().swappinessMax);
}

TEST(Engine, WhatIsNoLongerWantedIsForgotten) {
  Engine engine = seen({1, 2}, mebibytes(20));
  engine.want(kStart + 1s, {wanted(2)}, {});
  EXPECT_EQ(engine.size(), 1U);
  EXPECT_FALSE(engine.view(1));
  EXPECT_EQ(engine.due(kStart + 1h), std::vector<cgroup::Id>{2});
  Inputs inputs;
  Done late;
  late.job.id = 1;
  inputs.done.push_back(late);
  inputs.stats.push_back(statOf(1, kStart, mebibytes(1)));
  engine.wake(kStart + 2s, 1);
  EXPECT_TRUE(engine.step(kStart + 2s, inputs).jobs.empty());
}

TEST(Engine, ALookThatGetsLostIsNotAskedForAgainAtOnce) {
  Engine engine({});
  engine.want(kStart, {wanted(1)}, {});
  ASSERT_EQ(engine.step(kStart, {}).stats.size(), 1U);
  Inputs inputs;
  inputs.lostStats = {1};
  EXPECT_TRUE(engine.step(kStart + 1s, inputs).stats.empty());
  EXPECT_TRUE(engine.step(kStart + 5s, {}).stats.empty());
  EXPECT_EQ(engine.due(kStart + 6s).size(), 1U);
  EXPECT_EQ(engine.step(kStart + 6s, {}).stats.size(), 1U);
}

TEST(Engine, TheViewTellsMarksAndCounters) {
  Engine engine = seen({1}, mebibytes(20));
  const View view = engine.view(1).value();
  ASSERT_TRUE(view.marks);
  EXPECT_EQ(view.marks->start, mebibytes(63));
  EXPECT_EQ(view.state, State::idle);
  EXPECT_EQ(view.cacheUnmapped, mebibytes(20));
}

struct FloorCase {
  const char* what;
  Bytes kept;
  Stat stat;
  Bytes swappable;
  Bytes hard, now;
};
Stat memory(Bytes usage, Bytes file, Bytes shmem, Bytes listed, Bytes dirty, Bytes mapped) {
  Stat out;
  out.usage = usage;
  out.memory.file = file;
  out.memory.shmem = shmem;
  out.memory.inactiveFile = listed;
  out.memory.fileDirty = dirty;
  out.memory.fileMapped = mapped;
  return out;
}
class Floor : public ::testing::TestWithParam<FloorCase> {};
TEST_P(Floor, Is) {
  const FloorCase& c = GetParam();
  const Floors floors = floorsOf(c.kept, c.stat, c.swappable, mebibytes(4));
  EXPECT_EQ(floors.hard, c.hard) << c.what;
  EXPECT_EQ(floors.now, c.now) << c.what;
}
constexpr Bytes kNone{0};
constexpr auto M = mebibytes;
INSTANTIATE_TEST_SUITE_P(
    Table, Floor,
    ::testing::Values(
        FloorCase{"page cache only", kNone, memory(M(60), M(60), kNone, M(60), kNone, kNone), kNone, M(4), M(4)},
        FloorCase{"protection", M(50), memory(M(60), M(60), kNone, M(60), kNone, kNone), kNone, M(50), M(50)},
        FloorCase{"half a heap", kNone, memory(M(60), M(30), kNone, M(30), kNone, M(5)), kNone, M(39), M(39)},
        FloorCase{"a heap with swap", kNone, memory(M(60), M(30), kNone, M(30), kNone, M(5)), M(20), M(10), M(10)},
        FloorCase{"a tmpfs", kNone, memory(M(60), M(60), M(50), M(10), kNone, kNone), kNone, M(54), M(54)},
        FloorCase{"locked pages", kNone, memory(M(60), M(60), kNone, M(10), kNone, kNone), kNone, M(50), M(50)},
        FloorCase{"mostly dirty", kNone, memory(M(60), M(60), kNone, M(60), M(40), kNone), kNone, M(4), M(40)}));

}  // namespace
}  // namespace memqos::reclaim
