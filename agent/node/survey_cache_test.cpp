#include "node/survey.h"

#include "control/fake_watchdog.h"
#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;

const std::string kSlice = "kubepods.slice";
const std::string kPod = "kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice";

class SurveyCacheTest : public ::testing::Test {
 protected:
  SurveyCacheTest() {
    tree_.add("cgroup/" + kSlice,
              {dir(kPod.substr(kSlice.size() + 1),
                   {cgroupFiles({{"memory.max", "1000000"}}),
                    dir("main", {cgroupFiles({{"memory.max", "max"}, {"memory.high", "4096"}})})})});
    root_.emplace(*cgroup::Root::open(tree_.path("cgroup")));
    writer_ = std::make_unique<control::Writer>(std::make_unique<control::Files>(),
                                                std::move(*control::Journal::open(tree_.path("run"), "boot")),
                                                std::make_unique<control::FakeWatchdog>());
    request_.pods = {{"uid", {cgroup::PathKey{"memqos.io/cgroup", kPod}, {}, {"main", "late"}}}};
  }
  Survey take() { return survey(request_, *root_, *writer_, cache_); }
  // What the agent does between surveys that nothing made stale.
  void nothingHappened() { request_.everything = false; }
  cgroup::Id idOf(const std::string& path) { return (*root_->find(path))->id(); }

  testing::FakeTree tree_{dir("cgroup", {dir("kubepods.slice", {cgroupFiles({{"memory.low", "8192"}})})}), dir("run")};
  std::optional<cgroup::Root> root_;
  std::unique_ptr<control::Writer> writer_;
  SurveyRequest request_;
  SurveyCache cache_;
};

TEST_F(SurveyCacheTest, FindsWhatIsThereAndWhatStandsAbove) {
  const Survey found = take();
  const SurveyedPod& pod = found.pods.at("uid");
  ASSERT_TRUE(pod.cgroup);
  EXPECT_EQ(pod.cgroup->path(), kPod);
  EXPECT_TRUE(pod.inKubepods);
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.facts.containers.at("main").limit, Limit(Bytes{1000000}));
  EXPECT_EQ(pod.facts.containers.at("main").foundHigh, Limit(Bytes{4096}));
  EXPECT_EQ(found.ancestors.at(kSlice).baseline.low, Bytes{8192});
  std::set<std::string> waiting;
  for (const auto& handle : found.waitingAt) waiting.insert(handle->path());
  EXPECT_TRUE(waiting.contains(kSlice));
  EXPECT_TRUE(waiting.contains(kPod));
}

TEST_F(SurveyCacheTest, APodThatNothingConcernsIsNotReadAgain) {
  take();
  nothingHappened();
  tree_.write("cgroup/" + kPod + "/main/memory.max", "4096\n");
  request_.written = {idOf(kSlice)};
  request_.children = {{idOf(kSlice), "kubepods-podother.slice"}};
  EXPECT_EQ(take().pods.at("uid").facts.containers.at("main").limit, Limit(Bytes{1000000}));
  request_.written = {idOf(kPod + "/main")};
  EXPECT_EQ(take().pods.at("uid").facts.containers.at("main").limit, Limit(Bytes{4096}));
}

TEST_F(SurveyCacheTest, AChildOfItsNameMakesItStale) {
  take();
  nothingHappened();
  tree_.add("cgroup/" + kPod, {dir("late", {cgroupFiles()})});
  EXPECT_FALSE(take().pods.at("uid").containers.contains("late"));
  request_.children = {{idOf(kPod), "late"}};
  EXPECT_TRUE(take().pods.at("uid").containers.contains("late"));
  request_.children.clear();
  tree_.remove("cgroup/" + kPod + "/main");
  request_.children = {{idOf(kPod), "main"}};
  EXPECT_FALSE(take().pods.at("uid").containers.contains("main"));
}

TEST_F(SurveyCacheTest, ChangedKeysMakeItStale) {
  take();
  nothingHappened();
  request_.pods[0].keys.names = {"main"};
  request_.pods[0].keys.pod->value = "kubepods.slice/elsewhere";
  EXPECT_FALSE(take().pods.at("uid").cgroup);
}

TEST_F(SurveyCacheTest, TheSameHandleIsKept) {
  const cgroup::Handle before = take().pods.at("uid").cgroup;
  EXPECT_EQ(take().pods.at("uid").cgroup, before);
  nothingHappened();
  take();
  EXPECT_EQ(take().pods.at("uid").cgroup, before);
}

TEST_F(SurveyCacheTest, AWaitingPodIsSensitiveToTheNextNameOnItsWay) {
  request_.pods[0].keys.pod->value = "kubepods.slice/new.slice/pod";
  take();
  nothingHappened();
  request_.children = {{idOf(kSlice), "new.slice"}};
  tree_.add("cgroup/" + kSlice,
            {dir("new.slice", {cgroupFiles(), dir("pod", {cgroupFiles(), dir("main", {cgroupFiles()})})})});
  const Survey found = take();
  ASSERT_TRUE(found.pods.at("uid").cgroup);
  EXPECT_TRUE(found.pods.at("uid").containers.contains("main"));
}

// Protection of children that memqos does not hold counts; pods that ask for nothing are not read.
TEST_F(SurveyCacheTest, OutsideChildrenAreCountedPodsAreNot) {
  tree_.add("cgroup/" + kSlice,
            {dir("kubepods-besteffort.slice", {cgroupFiles({{"memory.low", "4096"}})}),
             dir("kubepods-pod22222222_2222_3333_4444_555555555555.slice", {cgroupFiles({{"memory.low", "16384"}})})});
  EXPECT_EQ(take().ancestors.at(kSlice).outside.low, Bytes{4096});
}

}  // namespace
}  // namespace memqos::node
