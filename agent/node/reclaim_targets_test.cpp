#include "node/reclaim_targets.h"

#include "policy/testing.h"
#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using reclaim::How;
using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;

// One pod with one container "app" of limit 2Gi, found in a tree.
class Targets : public ::testing::Test {
 protected:
  ReclaimTargets of(const std::vector<std::pair<std::string, std::string>>& annotations,
                    const std::string& limit = "2Gi", std::optional<Limit> podLimit = std::nullopt,
                    std::string off = {}) {
    SurveyedPod found;
    found.cgroup = *root_.find("pod");
    found.containers["app"] = *root_.find("pod/app");
    found.facts.podLimit = podLimit;
    policy::ContainerFacts facts;
    if (!limit.empty()) facts.limit = Limit(*parseQuantity(limit));
    facts.foundHigh = foundHigh;
    facts.foundMin = foundMin;
    found.facts.containers["app"] = facts;
    plans_ = {policy::planOf(policy::podOf("1Gi", limit, annotations), found.facts)};
    survey_ = {};
    survey_.pods[plans_[0].uid] = found;
    ReclaimInput input{plans_, survey_};
    input.allocatable = mebibytes(8192);
    input.off = std::move(off);
    input.floorAtRequest = floorAtRequest;
    return reclaimTargets(input);
  }

  std::optional<Limit> foundHigh, foundMin;
  bool floorAtRequest = false;

 private:
  FakeTree tree_{dir("pod", {cgroupFiles(), dir("app", {cgroupFiles()})})};
  cgroup::Root root_ = *cgroup::Root::open(tree_.path());
  std::vector<policy::PodPlan> plans_;
  Survey survey_;
};

TEST_F(Targets, OnlyWhoAsksIsWorkedOn) {
  EXPECT_TRUE(of({}).containers.empty());
  EXPECT_TRUE(of({{"memqos.io/memory-min", "64Mi"}}).containers.empty());
  EXPECT_TRUE(of({{"memqos.io/reclaim", "off"}}).containers.empty());
  EXPECT_TRUE(of({{"memqos.io/page-cache-limit", "off"}}).containers.empty());
  EXPECT_EQ(of({{"memqos.io/reclaim", "watermark"}}).containers.size(), 1U);
  EXPECT_EQ(of({{"memqos.io/page-cache-limit", "32Mi"}}).containers.size(), 1U);
}

TEST_F(Targets, TheLimitIsWhatTheContainerRunsInto) {
  const auto limit = [&](const std::vector<std::pair<std::string, std::string>>& more) {
    auto all = more;
    all.emplace_back("memqos.io/reclaim", "auto");
    return of(all).containers.at(0).wanted.limit;
  };
  EXPECT_EQ(limit({}), mebibytes(2048));
  EXPECT_EQ(limit({{"memqos.io/memory-high", "1Gi"}}), mebibytes(1024));
  foundHigh = Limit(mebibytes(512));
  EXPECT_EQ(limit({}), mebibytes(512)) << "somebody else's";
}

TEST_F(Targets, WithoutALimitThereAreNoMarks) {
  const auto watermark = of({{"memqos.io/reclaim", "watermark"}}, "");
  ASSERT_EQ(watermark.containers.size(), 1U);
  EXPECT_FALSE(watermark.containers[0].why.empty());
  EXPECT_EQ(watermark.containers[0].wanted.how, How::off);
  const auto marked = of({{"memqos.io/reclaim", "watermark"}, {"memqos.io/reclaim-high", "1Gi"}}, "");
  EXPECT_EQ(marked.containers[0].wanted.limit, mebibytes(8192));
  EXPECT_EQ(marked.containers[0].wanted.start, mebibytes(1024));
  EXPECT_TRUE(of({{"memqos.io/reclaim", "auto"}}, "").containers[0].why.empty()) << "it trims";
}

TEST_F(Targets, ProtectionIsTheFloor) {
  const auto floor = [&](const std::vector<std::pair<std::string, std::string>>& more) {
    auto all = more;
    all.emplace_back("memqos.io/reclaim", "watermark");
    return of(all).containers.at(0).wanted.floor;
  };
  EXPECT_EQ(floor({}), Bytes{0});
  EXPECT_EQ(floor({{"memqos.io/memory-min", "64Mi"}, {"memqos.io/memory-low", "128Mi"}}), mebibytes(128));
  foundMin = Limit(mebibytes(32));
  EXPECT_EQ(floor({}), mebibytes(32)) << "the kubelet's";
  floorAtRequest = true;
  EXPECT_EQ(floor({}), mebibytes(1024));
}

TEST_F(Targets, APodsLimitIsWatchedToo) {
  const auto with = of({{"memqos.io/reclaim", "watermark"}}, "2Gi", Limit(mebibytes(2048)));
  ASSERT_EQ(with.pods.size(), 1U);
  EXPECT_EQ(with.pods[0].limit, mebibytes(2048));
  EXPECT_EQ(with.containers[0].wanted.pod, with.pods[0].id);
  EXPECT_TRUE(with.podCgroups.contains(with.pods[0].id));
  EXPECT_TRUE(of({{"memqos.io/reclaim", "watermark"}}).pods.empty());
  EXPECT_TRUE(of({{"memqos.io/page-cache-limit", "32Mi"}}, "2Gi", Limit(mebibytes(2048))).pods.empty());
}

TEST_F(Targets, ANodeThatCannotSaysWhy) {
  const auto off = of({{"memqos.io/reclaim", "watermark"}}, "2Gi", Limit(mebibytes(2048)), "no memory.reclaim");
  ASSERT_EQ(off.containers.size(), 1U);
  EXPECT_TRUE(off.containers[0].off);
  EXPECT_EQ(off.containers[0].why, "no memory.reclaim");
  EXPECT_TRUE(off.pods.empty());
}

}  // namespace
}  // namespace memqos::node
