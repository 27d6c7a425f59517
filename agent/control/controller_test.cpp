#include "control/controller.h"

#include "control/fake_world.h"

namespace memqos::control {
namespace {

using cgroup::File;
using namespace std::chrono_literals;

using ControllerTest = ControllerWorld;

TEST_F(ControllerTest, WidensTopDownAndTightensBottomUp) {
  controller_->setTargets(
      {target(kContainer, File::memoryMin, mebibytes(8)), target(kPod, File::memoryMin, mebibytes(8), Role::podSlice),
       target(kSlice, File::memoryMin, mebibytes(8), Role::ancestor)},
      "plan");
  settle();
  EXPECT_EQ(writes_, (std::vector<std::string>{kSlice + " memory.min 8388608", kPod + " memory.min 8388608",
                                               kContainer + " memory.min 8388608"}));
  writes_.clear();
  controller_->setTargets({}, "plan");
  settle();
  EXPECT_EQ(writes_,
            (std::vector<std::string>{kContainer + " memory.min 0", kPod + " memory.min 0", kSlice + " memory.min 0"}));
  EXPECT_TRUE(controller_->files().empty());
}

TEST_F(ControllerTest, OneWritePerChange) {
  const auto targets = std::vector<Target>{target(kContainer, File::oomGroup, Limit(Bytes{1}))};
  for (int i = 0; i < 5; ++i) {
    controller_->setTargets(targets, "plan");
    settle();
  }
  EXPECT_EQ(writes_.size(), 1U);
  EXPECT_EQ(triggers_, std::vector<std::string>{"plan"});
}

TEST_F(ControllerTest, OwnWritesAreNoDrift) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  settle();
  controller_->modified(at(kContainer)->id(), "memory.min");
  settle();
  EXPECT_TRUE(drifts_.empty());
  EXPECT_EQ(writes_.size(), 1U);
}

TEST_F(ControllerTest, AForeignWriteIsRepairedAndIsTheNewBaseline) {
  controller_->setTargets({target(kContainer, File::memoryLow, mebibytes(8))}, "plan");
  settle();
  foreign(kContainer, File::memoryLow, "4096");
  settle();
  EXPECT_EQ(text(kContainer, File::memoryLow), "8388608");
  EXPECT_EQ(drifts_, std::vector<std::string>{kContainer + " memory.low unknown"});
  EXPECT_EQ(triggers_.back(), "drift");
  controller_->setTargets({}, "plan");
  settle();
  EXPECT_EQ(text(kContainer, File::memoryLow), "4096");
}

// kubernetes#138431: the kubelet rewrites QoS slices every minute; each time it is put right, for ever, without
// waiting.
TEST_F(ControllerTest, TheKubeletsRewritesOfASliceNeverBackOff) {
  controller_->setTargets({target(kSlice, File::memoryMin, mebibytes(8), Role::ancestor)}, "plan");
  settle();
  for (int i = 0; i < 50; ++i) {
    loop_.advance(1s);
    foreign(kSlice, File::memoryMin, "0");
    settle();
    ASSERT_EQ(text(kSlice, File::memoryMin), "8388608") << i;
  }
  EXPECT_EQ(drifts_.size(), 50U);
  EXPECT_EQ(drifts_[0], kSlice + " memory.min kubelet");
}

TEST_F(ControllerTest, AnotherAgentIsFoughtLessAndLess) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  settle();
  writes_.clear();
  for (int i = 0; i < 100; ++i) {
    loop_.advance(1s);
    settle();
    foreign(kContainer, File::memoryMin, std::to_string(4096 * (i + 1)));
    settle();
  }
  EXPECT_GE(writes_.size(), 6U);
  EXPECT_LE(writes_.size(), 12U);
  loop_.advance(60s);
  settle();
  EXPECT_EQ(text(kContainer, File::memoryMin), "8388608");
}

TEST_F(ControllerTest, AResizeByTheKubeletIsFollowed) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  settle();
  controller_->modified(at(kContainer)->id(), "memory.max");
  foreign(kContainer, File::memoryMin, "4096");
  settle();
  EXPECT_EQ(drifts_, std::vector<std::string>{kContainer + " memory.min kubelet"});
  EXPECT_EQ(replans_, 1);
  EXPECT_EQ(text(kContainer, File::memoryMin), "8388608");
}

TEST_F(ControllerTest, AChangedBaselineOfASliceAsksForANewPlan) {
  controller_->setTargets({target(kSlice, File::memoryLow, mebibytes(8), Role::ancestor)}, "plan");
  settle();
  replans_ = 0;
  foreign(kSlice, File::memoryLow, "33554432");
  settle();
  EXPECT_EQ(replans_, 1);
}

TEST_F(ControllerTest, HighGoesDownOnlyAfterReclaim) {
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(100))}, "plan");
  settle();
  EXPECT_TRUE(writes_.empty());
  EXPECT_EQ(reclaim_.stats().queued, 1U);
  tree_.write("cgroup/" + kContainer + "/memory.current", "94371840");  // 90 MiB: the kernel gave 10 MiB back
  reclaim_.runAll();
  loop_.settle();
  settle();
  EXPECT_EQ(writes_, std::vector<std::string>{kContainer + " memory.high 104857600"});
  EXPECT_TRUE(watchdog_->held.contains({at(kContainer)->id(), File::memoryHigh}));
}

TEST_F(ControllerTest, HighThatCannotBeReachedIsSaidOnce) {
  tree_.write("cgroup/" + kContainer + "/memory.reclaim", "");
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(50))}, "plan");
  for (int i = 0; i < 1000; ++i) {
    settle();
    reclaim_.runAll();
    loop_.advance(100ms);
  }
  EXPECT_EQ(stalls_, 1);
  EXPECT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(108).count) + "");
}

TEST_F(ControllerTest, AThrottledContainerIsRescued) {
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(200))}, "plan");
  settle();
  const auto id = at(kContainer)->id();
  controller_->sampled(id, {Limit(), mebibytes(199), 0, 0us, Limit::max()});
  loop_.advance(5s);
  controller_->sampled(id, {Limit(), mebibytes(199), 10, 3s, Limit::max()});
  settle();
  EXPECT_EQ(escapes_, std::vector<Limit>{Limit(mebibytes(264))});
  EXPECT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(264).count) + "");
  // Held against a new plan with the same value, lowered when the hold is over.
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(200))}, "plan");
  settle();
  EXPECT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(264).count) + "");
  loop_.advance(10min + 1s);
  settle();
  EXPECT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(200).count) + "");
}

TEST_F(ControllerTest, SomebodyElsesHighIsNeverEscaped) {
  tree_.write("cgroup/" + kContainer + "/memory.high", "209715200");
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(200))}, "plan");
  settle();
  const auto id = at(kContainer)->id();
  controller_->sampled(id, {Limit(), mebibytes(199), 0, 0us, Limit::max()});
  loop_.advance(5s);
  controller_->sampled(id, {Limit(), mebibytes(199), 10, 3s, Limit::max()});
  EXPECT_TRUE(escapes_.empty());
}

// oomd: limits that were set stayed after its end.
TEST_F(ControllerTest, StoppingPutsOnlyHighBack) {
  controller_->setTargets(
      {target(kContainer, File::memoryHigh, mebibytes(200)), target(kContainer, File::memoryMin, mebibytes(8))},
      "plan");
  settle();
  bool done = false;
  controller_->finish(Controller::Scope::unwatched, [&](const std::vector<Applied>&) { done = true; });
  settle();
  EXPECT_TRUE(done);
  EXPECT_EQ(text(kContainer, File::memoryHigh), "max");
  EXPECT_EQ(text(kContainer, File::memoryMin), "8388608");
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(200))}, "plan");
  settle();
  EXPECT_EQ(text(kContainer, File::memoryHigh), "max");
}

TEST_F(ControllerTest, RestoreWaitsForTheBatchUnderWay) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8)),
                           target(kSlice, File::memoryMin, mebibytes(8), Role::ancestor)},
                          "plan");
  loop_.settle();
  control_.runNext();  // the look
  loop_.settle();      // its result; the writes are submitted
  std::vector<Applied> restored;
  controller_->finish(Controller::Scope::everything,
                      [&](std::vector<Applied> results) { restored = std::move(results); });
  settle();
  EXPECT_EQ(restored.size(), 2U);
  EXPECT_EQ(text(kContainer, File::memoryMin), "0");
  EXPECT_EQ(text(kSlice, File::memoryMin), "0");
}

TEST_F(ControllerTest, WhatAnEarlierRunLeftIsRestoredUnlessWanted) {
  controller_->setTargets(
      {target(kContainer, File::memoryMin, mebibytes(8)), target(kContainer, File::oomGroup, Limit(Bytes{1}))}, "plan");
  settle();
  start();
  writes_.clear();
  controller_->adopt(at(kContainer), File::memoryMin);
  controller_->adopt(at(kContainer), File::oomGroup);
  loop_.settle();
  EXPECT_EQ(control_.stats().queued, 0U);  // nothing happens before there is a plan
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  settle();
  EXPECT_EQ(writes_, std::vector<std::string>{kContainer + " memory.oom.group 0"});
}

TEST_F(ControllerTest, AVanishedCgroupIsDropped) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  settle();
  const auto id = at(kContainer)->id();
  tree_.remove("cgroup/" + kContainer);
  controller_->gone(id);
  settle();
  EXPECT_TRUE(controller_->files().empty());
  EXPECT_TRUE(writer_->journal().entries().empty());
}

// oomd c13abd0: a write to memory.high can block for ever; whoever waits for it is lost, the agent is not.
TEST_F(ControllerTest, ALostJobIsTriedAgain) {
  controller_->setTargets({target(kContainer, File::memoryMin, mebibytes(8))}, "plan");
  loop_.settle();
  control_.loseNext();
  loop_.settle();
  loop_.advance(5s);
  settle();
  EXPECT_EQ(text(kContainer, File::memoryMin), "8388608");
}

TEST_F(ControllerTest, AKernelWithoutTheFileIsAskedOnce) {
  tree_.remove("cgroup/" + kContainer + "/memory.zswap.max");
  controller_->setTargets({target(kContainer, File::zswapMax, mebibytes(8))}, "plan");
  settle();
  EXPECT_EQ(controller_->find(at(kContainer)->id(), File::zswapMax)->outcome, Outcome::unsupported);
  loop_.advance(60s);
  settle();
  EXPECT_TRUE(writes_.empty());
  EXPECT_TRUE(controller_->idle());
}

TEST_F(ControllerTest, WithoutAWatchdogHighIsNotEvenReclaimedFor) {
  watchdog_->alive = false;
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(64))}, "plan");
  settle();
  EXPECT_EQ(reclaim_.runAll(), 0U);
  EXPECT_TRUE(writes_.empty());
  EXPECT_EQ(controller_->find(at(kContainer)->id(), File::memoryHigh)->outcome, Outcome::unwatched);
}

TEST_F(ControllerTest, WhenTheWatchdogEndsHighGoesBackAndStays) {
  controller_->setTargets({target(kContainer, File::memoryHigh, mebibytes(200))}, "plan");
  settle();
  EXPECT_EQ(text(kContainer, File::memoryHigh), "209715200");
  watchdog_->alive = false;
  HighSample sample;
  sample.usage = mebibytes(100);
  controller_->sampled(at(kContainer)->id(), sample);
  settle();
  EXPECT_EQ(text(kContainer, File::memoryHigh), "max");
  EXPECT_EQ(replans_, 1) << "other values that it watched";
  const std::size_t written = writes_.size();
  for (int i = 0; i < 10; ++i) {
    loop_.advance(5s);
    controller_->sampled(at(kContainer)->id(), sample);
    settle();
  }
  EXPECT_EQ(writes_.size(), written);
  EXPECT_EQ(replans_, 1);
  EXPECT_EQ(controller_->find(at(kContainer)->id(), File::memoryHigh)->outcome, Outcome::unwatched);
}

}  // namespace
}  // namespace memqos::control
