#include "cgroup/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memqos::cgroup {
namespace {

const std::string kUid = "11111111-2222-3333-4444-555555555555";
const std::string kMirrorUid = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const std::string kHash = "9aac5b5c8815def09a2ef9e37b89da55";
const std::string kId(64, 'a');
const std::string kOldId(64, 'b');
const std::string kPodSlice =
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";
const std::string kStaticSlice = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kHash + ".slice";

PodIdentity web() {
  return {kUid, "shop", "web-0", "", "", {{"app", "containerd://" + kId}}};
}
// As the API server shows a static pod: the kubelet's mirror, with a UID of its own and, on many clusters, without ids
// in its status.
PodIdentity etcd() {
  return {kMirrorUid, "kube-system", "etcd-node1", kHash, kHash, {{"etcd", ""}}};
}
std::string scope(const std::string& pod, const std::string& id = kId) {
  return pod + "/cri-containerd-" + id + ".scope";
}
using Maybe = std::optional<PodMatch>;

class MatchTest : public ::testing::Test {
 protected:
  Maybe match(const std::string& path, const std::optional<BundleNames>& bundle = {}) const {
    const auto parsed = parsePodPath(path);
    EXPECT_TRUE(parsed) << path;
    return parsed ? PodMatcher(pods_).match(*parsed, bundle) : std::nullopt;
  }
  std::vector<PodIdentity> pods_ = {web(), etcd()};
};

TEST_F(MatchTest, APodByItsUidAndAContainerByItsId) {
  EXPECT_EQ(match(kPodSlice), (PodMatch{0, ""}));
  EXPECT_EQ(match(scope(kPodSlice)), (PodMatch{0, "app"}));
  EXPECT_EQ(match("kubepods/burstable/pod" + kUid + "/" + kId), (PodMatch{0, "app"}));
}

// kubernetes#67537, pixie#399, vector#6001: the API server shows the mirror of a static pod, with another UID than the
// cgroup's, which is the manifest's hash.
TEST_F(MatchTest, AStaticPodIsFoundByTheHashOfItsManifest) {
  EXPECT_EQ(match(kStaticSlice), (PodMatch{1, ""}));
  EXPECT_EQ(match("kubepods/burstable/pod" + kHash), (PodMatch{1, ""}));
  EXPECT_EQ(match(scope(kStaticSlice), BundleNames{"kube-system", "etcd-node1", "etcd"}), (PodMatch{1, "etcd"}));
  pods_[1].containers["etcd"] = "containerd://" + kId;
  EXPECT_EQ(match(scope(kStaticSlice)), (PodMatch{1, "etcd"}));
  EXPECT_EQ(PodMatcher(pods_).podOf(kMirrorUid), std::nullopt) << "the mirror's own UID names no cgroup";
}

// kubernetes#61717, datadog-agent#2803: a static pod may be shown as Pending for ever, without any container's status.
// Nothing but the names decides, so there is no phase to be wrong about.
TEST_F(MatchTest, AStaticPodThatIsShownAsPendingForEverIsFound) {
  pods_[1].containers = {{"etcd", ""}, {"sidecar", ""}};
  EXPECT_EQ(match(scope(kStaticSlice), BundleNames{"kube-system", "etcd-node1", "sidecar"}), (PodMatch{1, "sidecar"}));
  EXPECT_EQ(match(scope(kStaticSlice)), std::nullopt) << "without the bundle it waits; it is not guessed";
}

TEST_F(MatchTest, AHashAloneIsNoClaim) {
  for (const std::string& mirror : {std::string(), std::string("9aac"), kUid}) {
    pods_[1].configMirror = mirror;
    EXPECT_EQ(match(kStaticSlice), std::nullopt) << mirror;
    EXPECT_EQ(PodMatcher(pods_).podOf(kMirrorUid), 1U) << "then it is a pod like any other";
  }
}

TEST_F(MatchTest, NobodyTakesAnothersCgroupsByAnAnnotation) {
  // A pod that poses as a mirror of another one's UID.
  PodIdentity liar{"99999999-0000-4000-8000-000000000000", "evil", "liar", kUid, kUid,
                   {{"app", "containerd://" + kId}}};
  pods_.insert(pods_.begin(), liar);
  EXPECT_EQ(match(kPodSlice), (PodMatch{1, ""}));
  // Or of a real static pod: then only the runtime's bundle decides.
  pods_[0].configHash = pods_[0].configMirror = kHash;
  EXPECT_EQ(match(kStaticSlice), std::nullopt);
  EXPECT_EQ(match(scope(kStaticSlice)), std::nullopt);
  EXPECT_EQ(match(scope(kStaticSlice), BundleNames{"kube-system", "etcd-node1", "etcd"}), (PodMatch{2, "etcd"}));
}

TEST_F(MatchTest, TheBundleMustAgreeInEveryName) {
  EXPECT_EQ(match(scope(kPodSlice), BundleNames{"shop", "web-0", "app"}), (PodMatch{0, "app"}));
  EXPECT_EQ(match(scope(kPodSlice), BundleNames{"other", "web-0", "app"}), std::nullopt);
  EXPECT_EQ(match(scope(kPodSlice), BundleNames{"shop", "web-1", "app"}), std::nullopt);
  EXPECT_EQ(match(scope(kPodSlice), BundleNames{"shop", "web-0", "POD"}), std::nullopt) << "the sandbox";
  EXPECT_EQ(match(scope(kPodSlice), BundleNames{"shop", "web-0", ""}), std::nullopt);
  EXPECT_EQ(match(scope(kPodSlice, kOldId), BundleNames{"shop", "web-0", "app"}), (PodMatch{0, "app"}))
      << "the status may lag behind the runtime";
}

// talos#6071: two kubelets in one tree removed each other's cgroups as leftovers.
TEST_F(MatchTest, AnUnknownPodIsNobodysToTouch) {
  for (const std::string uid : {"00000000_0000_0000_0000_000000000000", "1", "x"}) {
    const std::string pod = "kubepods.slice/kubepods-pod" + uid + ".slice";
    EXPECT_EQ(match(pod), std::nullopt) << uid;
    EXPECT_EQ(match(scope(pod)), std::nullopt) << "the id of a known pod's container does not help";
    EXPECT_EQ(match(scope(pod), BundleNames{"shop", "web-0", "app"}), std::nullopt);
  }
  pods_.clear();
  EXPECT_EQ(match(kPodSlice), std::nullopt);
}

// kubernetes#112151, #123766: scopes that the runtime left behind keep the pod's directory alive.
TEST_F(MatchTest, AScopeThatWasLeftBehindIsNobodys) {
  EXPECT_EQ(match(scope(kPodSlice, kOldId)), std::nullopt);
  pods_[0].containers["app"] = "";
  EXPECT_EQ(match(scope(kPodSlice)), std::nullopt) << "no id in the status yet";
}

// koordinator#895: a pod's cgroup outside of kubepods. containerd#5226: mixed drivers, the container is not below it.
TEST_F(MatchTest, WhereTheDirectoryStandsDoesNotMatter) {
  const std::string slice = "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";
  for (const std::string parent : {"", "system.slice/", "custom.slice/custom-kubepods.slice/", "a/b/c/d/"}) {
    EXPECT_EQ(match(parent + slice), (PodMatch{0, ""})) << parent;
    EXPECT_EQ(match(scope(parent + slice)), (PodMatch{0, "app"})) << parent;
  }
  const std::string mixed = "system.slice/containerd.service/" + slice + ":cri-containerd:";
  EXPECT_EQ(match(mixed + kId), (PodMatch{0, "app"}));
  EXPECT_EQ(match(mixed + kOldId), std::nullopt);
}

// koordinator#2550: finished pods without a cgroup were processed for ever. What is not in the tree is never asked for:
// matching starts at directories.
TEST_F(MatchTest, AFinishedPodHasNothingToMatch) {
  pods_.push_back(
      {"77777777-0000-4000-8000-000000000000", "shop", "job", "", "", {{"main", "containerd://" + kOldId}}});
  EXPECT_EQ(match(scope(kPodSlice, kOldId)), std::nullopt) << "its container's id below another pod";
}

TEST_F(MatchTest, TheUidThatTwoPodsHaveIsTheFirsts) {
  pods_.push_back(web());
  pods_.back().name = "copy";
  EXPECT_EQ(match(kPodSlice), (PodMatch{0, ""}));
}

}  // namespace
}  // namespace memqos::cgroup
