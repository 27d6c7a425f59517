#include "node/cluster_tree.h"

#include "testing/fake_tree.h"
#include "testing/touch_watch.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::string kUid = "11111111-2222-3333-4444-555555555555";
const std::string kSlices = "kubepods.slice/kubepods-burstable.slice";
const std::string kPodName = "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";
const std::string kPod = kSlices + "/" + kPodName;

std::string scope(char digit) {
  return "cri-containerd-" + std::string(64, digit) + ".scope";
}
std::string id(char digit) {
  return std::string(64, digit);
}

class ClusterTreeTest : public ::testing::Test {
 protected:
  ClusterTreeTest() {
    view_.pods = {{kUid, "shop", "web-0", "", "", {{"app", ""}, {"proxy", ""}}}};
    view_.bundle = [this](std::string_view containerId) -> std::optional<cgroup::BundleNames> {
      ++bundlesRead_;
      const auto found = bundlesById_.find(std::string(containerId));
      return found == bundlesById_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  void buildSystemd(std::vector<std::string> scopes) {
    std::vector<testing::Node> containers = {cgroupFiles()};
    for (const std::string& name : scopes) containers.push_back(dir(name, {cgroupFiles()}));
    tree_.add("", {dir("system.slice", {dir("a.service")}),
                   dir("kubepods.slice", {dir("kubepods-burstable.slice", {dir(kPodName, containers)}),
                                          dir("kubepods-besteffort.slice")})});
  }
  ClusterPlace find(std::size_t index = 0) {
    const auto root = cgroup::Root::open(tree_.path()).value();
    ClusterTree tree(root, cgroupRoot_, view_, bundles_);
    above_ = tree.above();
    return tree.find(index);
  }
  FakeTree tree_;
  std::string cgroupRoot_;
  ClusterView view_;
  BundleCache bundles_;
  std::map<std::string, cgroup::BundleNames> bundlesById_;
  int bundlesRead_ = 0;
  std::vector<std::string> above_;
};

TEST_F(ClusterTreeTest, TheBundleNamesAContainerBeforeTheStatusDoes) {
  buildSystemd({scope('a'), scope('b')});
  bundlesById_ = {{id('a'), {"shop", "web-0", ""}}, {id('b'), {"shop", "web-0", "app"}}};  // 'a' is the sandbox
  const ClusterPlace place = find();
  EXPECT_EQ(place.pod, kPod);
  EXPECT_THAT(place.containers, ElementsAre(Pair("app", kPod + "/" + scope('b'))));
  EXPECT_THAT(place.folders, ElementsAre(kPod));
}

TEST_F(ClusterTreeTest, WithoutABundleTheStatusNamesIt) {
  buildSystemd({scope('a'), scope('b')});
  EXPECT_THAT(find().containers, IsEmpty());
  view_.pods[0].containers["proxy"] = "containerd://" + id('b');
  EXPECT_THAT(find().containers, ElementsAre(Pair("proxy", kPod + "/" + scope('b'))));
}

// Whoever can make a cgroup or a pod with the UID of another gets nothing by it.
TEST_F(ClusterTreeTest, ABundleOfAnotherPodIsNotBelieved) {
  buildSystemd({scope('a')});
  bundlesById_ = {{id('a'), {"shop", "web-1", "app"}}};
  EXPECT_THAT(find().containers, IsEmpty());
  bundlesById_ = {{id('a'), {"other", "web-0", "app"}}};
  bundles_ = {};
  EXPECT_THAT(find().containers, IsEmpty());
}

TEST_F(ClusterTreeTest, AHashThatIsAnotherPodsUidIsNotBelieved) {
  buildSystemd({scope('a')});
  view_.pods.push_back({"99999999-2222-3333-4444-555555555555", "evil", "thief", kUid, kUid, {{"app", ""}}});
  bundlesById_ = {{id('a'), {"shop", "web-0", "app"}}};
  EXPECT_EQ(find(0).pod, kPod);
  const ClusterPlace thief = find(1);
  EXPECT_EQ(thief.pod, "");
  EXPECT_THAT(thief.containers, IsEmpty());
}

TEST_F(ClusterTreeTest, AStaticPodIsFoundByTheHashOfItsManifest) {
  const std::string hash = "0123456789abcdef0123456789abcdef";
  tree_.add("", {dir("kubepods", {dir("burstable", {dir("pod" + hash, {dir(id('c'), {cgroupFiles()})})})})});
  view_.pods = {{"mirror-uid", "kube-system", "etcd-node", hash, hash, {{"etcd", "containerd://" + id('c')}}}};
  const ClusterPlace place = find();
  EXPECT_EQ(place.pod, "kubepods/burstable/pod" + hash);
  EXPECT_THAT(place.containers, ElementsAre(Pair("etcd", "kubepods/burstable/pod" + hash + "/" + id('c'))));
}

TEST_F(ClusterTreeTest, WaitsAboveThePods) {
  buildSystemd({});
  view_.pods[0].uid = "00000000-0000-0000-0000-000000000000";
  const ClusterPlace place = find();
  EXPECT_EQ(place.pod, "");
  EXPECT_THAT(place.folders, IsEmpty());
  EXPECT_THAT(above_, UnorderedElementsAre("", "kubepods.slice", kSlices, "kubepods.slice/kubepods-besteffort.slice"));
}

TEST_F(ClusterTreeTest, BeforeAKubeletThereIsOnlyTheRootToWaitAt) {
  tree_.add("", {dir("system.slice")});
  EXPECT_EQ(find().pod, "");
  EXPECT_THAT(above_, ElementsAre(""));
}

TEST_F(ClusterTreeTest, OutsideOfTheConfiguredRootNothingIsFound) {
  buildSystemd({scope('a')});
  cgroupRoot_ = "system.slice";
  EXPECT_EQ(find().pod, "");
  cgroupRoot_ = "kubepods.slice";
  EXPECT_EQ(find().pod, kPod);
}

TEST_F(ClusterTreeTest, ABundleIsReadOnce) {
  buildSystemd({scope('a')});
  bundlesById_ = {{id('a'), {"shop", "web-0", "app"}}};
  find();
  EXPECT_EQ(find().containers.size(), 1U);
  EXPECT_EQ(bundlesRead_, 1);
}

}  // namespace
}  // namespace memqos::node
