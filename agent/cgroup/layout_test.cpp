#include "cgroup/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memqos::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kId(64, 'a');
const std::string kUid = "11111111-2222-3333-4444-555555555555";
const std::string kSystemdUid = "11111111_2222_3333_4444_555555555555";
const std::string kStaticUid = "9aac5b5c8815def09a2ef9e37b89da55";

struct PathCase {
  std::string path;
  std::string uid;  // "" = not a pod's
  std::string pod;
  std::string container;
  std::string runtime;
  std::string id = kId;
};

// koordinator#716, #820: a custom cgroup root. koordinator#2303, volcano#4912: KinD. containerd#5226: mixed drivers.
// crun#305, #703: crun's own level below the scope.
TEST(Layout, ReadsPodsAndContainers) {
  const std::string burstable =
      "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kSystemdUid + ".slice";
  const std::string guaranteed = "kubepods.slice/kubepods-pod" + kSystemdUid + ".slice";
  const std::string custom =
      "custom.slice/custom-kubepods.slice/custom-kubepods-burstable.slice/custom-kubepods-burstable-pod" + kSystemdUid +
      ".slice";
  const std::string kind =
      "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" +
      kSystemdUid + ".slice";
  const std::string cgroupfs = "kubepods/burstable/pod" + kUid;
  const std::string mismatch =
      "system.slice/containerd.service/kubepods-burstable-pod" + kSystemdUid + ".slice:cri-containerd:" + kId;
  const std::vector<PathCase> cases = {
      {burstable, kUid, burstable, "", "", ""},
      {burstable + "/cri-containerd-" + kId + ".scope", kUid, burstable,
       burstable + "/cri-containerd-" + kId + ".scope", "containerd"},
      {guaranteed, kUid, guaranteed, "", "", ""},
      {guaranteed + "/docker-" + kId + ".scope", kUid, guaranteed, guaranteed + "/docker-" + kId + ".scope", "docker"},
      {guaranteed + "/crio-" + kId + ".scope", kUid, guaranteed, guaranteed + "/crio-" + kId + ".scope", "cri-o"},
      // crun's own level stands for the scope
      {guaranteed + "/crio-" + kId + ".scope/container", kUid, guaranteed, guaranteed + "/crio-" + kId + ".scope",
       "cri-o"},
      {cgroupfs, kUid, cgroupfs, "", "", ""},
      {cgroupfs + "/" + kId, kUid, cgroupfs, cgroupfs + "/" + kId, ""},
      {cgroupfs + "/crio-" + kId, kUid, cgroupfs, cgroupfs + "/crio-" + kId, "cri-o"},
      {"kubepods/pod" + kUid + "/" + kId, kUid, "kubepods/pod" + kUid, "kubepods/pod" + kUid + "/" + kId, ""},
      {"custom/kubepods/besteffort/pod" + kUid, kUid, "custom/kubepods/besteffort/pod" + kUid, "", "", ""},
      {custom, kUid, custom, "", "", ""},
      {kind + "/cri-containerd-" + kId + ".scope", kUid, kind, kind + "/cri-containerd-" + kId + ".scope",
       "containerd"},
      {"docker/" + kId + "/" + kind, kUid, "docker/" + kId + "/" + kind, "", "", ""},
      // static pods: the manifest's hash
      {"kubepods.slice/kubepods-pod" + kStaticUid + ".slice", kStaticUid,
       "kubepods.slice/kubepods-pod" + kStaticUid + ".slice", "", "", ""},
      // kubelet on systemd, containerd on cgroupfs: the container is not below its pod
      {mismatch, kUid, "", mismatch, "containerd"},
      {mismatch + "/container", kUid, "", mismatch, "containerd"},
      // a pod slice outside of kubepods
      {"system.slice/kubepods-burstable-pod" + kSystemdUid + ".slice", kUid,
       "system.slice/kubepods-burstable-pod" + kSystemdUid + ".slice", "", "", ""},
  };
  for (const auto& c : cases) {
    const auto found = parsePodPath(c.path);
    ASSERT_TRUE(found) << c.path;
    EXPECT_EQ(found->uid, c.uid) << c.path;
    EXPECT_EQ(found->pod, c.pod) << c.path;
    EXPECT_EQ(found->container, c.container) << c.path;
    EXPECT_EQ(found->runtime, c.runtime) << c.path;
    EXPECT_EQ(found->containerId, c.id) << c.path;
  }
}

// linchpiner: "the leaf is the container" breaks where a container makes cgroups of its own.
TEST(Layout, IgnoresWhatIsNoPodAndNoContainer) {
  const std::string pod = "kubepods.slice/kubepods-pod" + kSystemdUid + ".slice";
  const std::string scope = pod + "/cri-containerd-" + kId + ".scope";
  const std::vector<std::string> paths = {
      "",
      "kubepods.slice",
      "kubepods.slice/kubepods-burstable.slice",
      "kubepods",
      "kubepods/burstable",
      "system.slice/sshd.service",
      "kubepods/burstable/pod",
      "kubepods.slice/kubepods-pod.slice",
      "burstable/pod" + kUid,
      "pod" + kUid,
      "notkubepods/pod" + kUid,
      "mykubepods.slice/mykubepods-pod" + kSystemdUid + ".slice",
      pod + "/crio-conmon-" + kId + ".scope",
      "kubepods/pod" + kUid + "/crio-conmon-" + kId,
      pod + "/init.scope",
      pod + "/cri-containerd-.scope",
      "kubepods/pod" + kUid + "/deadbeef",
      // made by the container itself
      scope + "/init",
      scope + "/container/deeper",
      scope + "/init.scope",
      scope + "/container/container",
      scope + "/kubepods.slice/kubepods-pod" + kStaticUid + ".slice",
      "system.slice/containerd.service/a:b",
      // hostile names
      "kubepods/pod\x1b[2J",
      "kubepods/pod" + kUid + "\n",
      "kubepods/pod\xff\xfe",
      "kubepods.slice/kubepods-pod\u202e.slice",
      pod + "/cri-containerd-a\nb.scope",
      pod + "/crio-" + std::string(1, '\0') + ".scope",
      "system.slice/kubepods-pod1.slice:cri-containerd:\x1b",
      "system.slice/containerd.service/a:b:c",
      "system.slice/kubepods-pod1.slice:other:" + kId,
  };
  for (const auto& path : paths) {
    EXPECT_FALSE(parsePodPath(path)) << path;
  }
}

TEST(Layout, APodCannotPoseAsAnotherFromBelow) {
  const std::string outer = "kubepods.slice/kubepods-pod" + kSystemdUid + ".slice";
  EXPECT_FALSE(parsePodPath(outer + "/kubepods-pod" + kStaticUid + ".slice"));
  EXPECT_FALSE(parsePodPath(outer + "/kubepods-pod" + kStaticUid + ".slice/cri-containerd-" + kId + ".scope"));
}

TEST(Layout, FindsTheRootOfThePods) {
  EXPECT_EQ(kubepodsOf("custom.slice/custom-kubepods.slice/x"), "custom.slice/custom-kubepods.slice");
  EXPECT_EQ(kubepodsOf("kubepods"), "kubepods");
  EXPECT_EQ(kubepodsOf("a/kubepods/b/kubepods/c"), "a/kubepods");
  EXPECT_EQ(kubepodsOf("kubepods-burstable.slice/x"), std::nullopt);
  EXPECT_EQ(kubepodsOf(""), std::nullopt);
  EXPECT_EQ(driverOf("kubelet.slice/kubelet-kubepods.slice/x"), Driver::systemd);
  EXPECT_EQ(driverOf("custom/kubepods/burstable"), Driver::cgroupfs);
  EXPECT_EQ(driverOf("system.slice"), Driver::none);
  EXPECT_FALSE(isKubepods("mykubepods.slice"));
  EXPECT_EQ(name(Driver::cgroupfs), "cgroupfs");
}

TEST(Layout, KnowsWhatManyPodsShare) {
  for (const auto* path : {"", "kubepods", "kubepods/burstable", "kubepods.slice/kubepods-besteffort.slice",
                           "a.slice/a-kubepods.slice/a-kubepods-burstable.slice"}) {
    EXPECT_TRUE(isAbovePods(path)) << path;
  }
  for (const auto* path :
       {"burstable", "kubepods/pod1", "kubepods/burstable/pod1", "system.slice", "kubepods/x/burstable"}) {
    EXPECT_FALSE(isAbovePods(path)) << path;
  }
}

TEST(Layout, WalksUp) {
  EXPECT_THAT(ancestorsOf("a/b/c"), ElementsAre("a/b", "a"));
  EXPECT_THAT(ancestorsOf("a"), IsEmpty());
  EXPECT_EQ(parentOf("a/b"), "a");
  EXPECT_EQ(parentOf("a"), "");
  EXPECT_TRUE(isBelow("a/b", "a"));
  EXPECT_FALSE(isBelow("ab", "a"));
  EXPECT_FALSE(isBelow("a", "a"));
  EXPECT_TRUE(isBelow("a", ""));
  EXPECT_FALSE(isBelow("", ""));
}

TEST(Layout, TheCommonParentIsAboveAll) {
  EXPECT_EQ(commonParent({"a/b/c", "a/b/d"}), "a/b");
  EXPECT_EQ(commonParent({"a/b", "a/bc"}), "a");
  EXPECT_EQ(commonParent({"a/b", "a/b/c"}), "a");
  EXPECT_EQ(commonParent({"a/b/c", "a/b/c"}), "a/b");
  EXPECT_EQ(commonParent({"a", "b"}), "");
  EXPECT_EQ(commonParent({"a/b"}), "a");
  EXPECT_EQ(commonParent({}), "");
}

}  // namespace
}  // namespace memqos::cgroup
