#include "node/reclaim_keeper.h"

#include "loop/fake_lane.h"
#include "loop/fake_loop.h"
#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using namespace std::chrono_literals;
using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;

class Keeper : public ::testing::Test {
 protected:
  ReclaimTarget target(const std::string& path) {
    ReclaimTarget out;
    out.uid = "u-" + path;
    out.container = "main";
    out.cgroup = root_.find(path).value();
    out.wanted.id = out.cgroup->id();
    out.wanted.how = reclaim::How::watermark;
    out.wanted.limit = mebibytes(64);
    return out;
  }
  void pass(loop::Duration time) {
    for (loop::Duration step{}; step < time; step += 100ms) {
      loop_.advance(100ms);
      rounds_.runNext();
    }
    loop_.settle();
  }

  ReclaimKeeper::Callbacks callbacks() {
    return {
        [this](loop::Duration) { ++writes_; }, [this] { ++dropped_; },
        [this](const std::string& uid, std::vector<policy::Finding> findings) { told_[uid] = std::move(findings); }};
  }

  FakeTree tree_{dir("full", {cgroupFiles({{"memory.current", "67108864"},
                                           {"memory.stat", "file 62914560\ninactive_file 62914560"},
                                           {"cgroup.events", "populated 1\nfrozen 0"}})}),
                 dir("heap", {cgroupFiles({{"memory.current", "67108864"},
                                           {"memory.stat", "anon 67108864"},
                                           {"cgroup.events", "populated 1\nfrozen 0"}})})};
  cgroup::Root root_ = *cgroup::Root::open(tree_.path());
  loop::FakeLoop loop_;
  loop::FakeLane samples_{loop_, loop::FakeLane::Mode::immediate};
  loop::FakeLane rounds_{loop_};  // takes time, as a real one does
  int writes_ = 0, dropped_ = 0;
  std::map<std::string, std::vector<policy::Finding>> told_;
  ReclaimKeeper keeper_{loop_, samples_, rounds_, {true, true, kMiB, 2}, callbacks()};
};

TEST_F(Keeper, NothingIsReadForNobody) {
  keeper_.watch({});
  EXPECT_EQ(loop_.timers(), 0U);
  ReclaimTargets off;
  off.containers = {target("full")};
  off.containers[0].off = true;
  off.containers[0].why = "this kernel has no memory.reclaim";
  keeper_.watch(off);
  pass(20s);
  EXPECT_EQ(samples_.stats().done, 0U);
  EXPECT_TRUE(told_.empty()) << "it is the node's, which says it once";
  EXPECT_EQ(keeper_.state(off.containers[0].wanted.id)->why, "this kernel has no memory.reclaim");
}

TEST_F(Keeper, AFullContainerIsReclaimedFrom) {
  ReclaimTargets targets;
  targets.containers = {target("full")};
  const cgroup::Id id = targets.containers[0].wanted.id;
  keeper_.watch(targets);
  pass(1s);
  EXPECT_FALSE(tree_.read("full/memory.reclaim").empty());
  EXPECT_GT(writes_, 0);
  const auto state = keeper_.state(id).value();
  EXPECT_GT(state.requested, Bytes{0});
  EXPECT_TRUE(state.writes.contains({"mixed", "ok"}));
  EXPECT_TRUE(state.marks.contains("start"));
  EXPECT_EQ(state.cacheUnmapped, Bytes{62914560});

  keeper_.watch({});
  rounds_.runAll();
  loop_.settle();
  tree_.write("full/memory.reclaim", "");
  pass(10s);
  EXPECT_EQ(tree_.read("full/memory.reclaim"), "");
  EXPECT_FALSE(keeper_.state(id));
}

TEST_F(Keeper, WhatCannotBeTakenIsToldWhenItLasts) {
  ReclaimTargets targets;
  targets.containers = {target("heap")};
  keeper_.watch(targets);
  pass(5s);
  EXPECT_TRUE(told_.empty());
  pass(15s);
  ASSERT_EQ(told_["u-heap"].size(), 1U);
  EXPECT_EQ(told_["u-heap"][0].reason, policy::Reason::floorAboveMark);
  EXPECT_EQ(tree_.read("heap/memory.reclaim"), "");
}

TEST_F(Keeper, WhatIsImpossibleForAnInstantIsNotTold) {
  ReclaimTargets unlimited;
  unlimited.containers = {target("full")};
  unlimited.containers[0].wanted.how = reclaim::How::off;
  unlimited.containers[0].why = "the container has no limit";
  ReclaimTargets limited;
  limited.containers = {target("full")};
  keeper_.watch(unlimited);
  pass(5s);
  keeper_.watch(limited);
  pass(1s);
  keeper_.watch(unlimited);
  pass(8s);
  EXPECT_TRUE(told_.empty());
  keeper_.watch(unlimited);
  pass(8s);
  ASSERT_EQ(told_["u-full"].size(), 1U);
  EXPECT_EQ(told_["u-full"][0].reason, policy::Reason::unsupported);
  keeper_.watch(limited);
  EXPECT_TRUE(told_["u-full"].empty());
}

TEST_F(Keeper, AThousandSlowLooksAreTakenAFewAtATime) {
  loop::FakeLane samples(loop_);
  ReclaimKeeper keeper(loop_, samples, rounds_, {true, true, kMiB, 2}, callbacks());
  ReclaimTargets targets;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "idle" + std::to_string(i);
    tree_.add("",
              {dir(name, {testing::file("memory.current", "4096\n"), testing::file("memory.stat", "anon 4096\n")})});
    targets.containers.push_back(target(name));
  }
  keeper.watch(targets);
  loop_.settle();
  std::size_t batches = 0, most = 0;
  for (; samples.runNext(); ++batches) {
    loop_.settle();
    most = std::max(most, samples.stats().queued);
  }
  EXPECT_EQ(batches, 32U);
  EXPECT_LE(most, 1U) << "one at a time, so that other samples have their turn";
  EXPECT_EQ(dropped_, 0);
  // One that the node is too busy for is not asked for again at once.
  loop_.advance(80s);
  ASSERT_TRUE(samples.loseNext());
  loop_.settle();
  for (batches = 0; samples.runNext(); ++batches) loop_.settle();
  EXPECT_EQ(batches, 31U);
}

TEST_F(Keeper, AFullLaneIsCountedAndAskedAgain) {
  loop::FakeLane none(loop_, loop::FakeLane::Mode::held, 0);
  ReclaimKeeper keeper(loop_, samples_, none, {true, true, kMiB, 2}, callbacks());
  ReclaimTargets targets;
  targets.containers = {target("full")};
  keeper.watch(targets);
  pass(2s);
  EXPECT_GE(dropped_, 2);
  EXPECT_LE(dropped_, 100);
}

}  // namespace
}  // namespace memqos::node
