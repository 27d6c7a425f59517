#include "kube/bundle.h"

#include "testing/fake_tree.h"

namespace memqos::kube {
namespace {

using testing::dir;
using testing::FakeTree;
using testing::file;

const std::string kId(64, 'a');

std::string containerd(const std::string& nameSpace, const std::string& pod, const std::string& container,
                       const std::string& type = "container") {
  return R"({"ociVersion":"1.2.0","annotations":{"io.kubernetes.cri.container-type":")" + type +
         R"(","io.kubernetes.cri.container-name":")" + container + R"(","io.kubernetes.cri.sandbox-name":")" + pod +
         R"(","io.kubernetes.cri.sandbox-namespace":")" + nameSpace + R"("}})";
}

std::optional<cgroup::BundleNames> decode(const std::string& text) {
  return decodeBundle(document::parseJson(text).value());
}

TEST(Bundle, OfContainerd) {
  const auto names = decode(containerd("shop", "web-0", "app"));
  ASSERT_TRUE(names);
  EXPECT_EQ(names->nameSpace, "shop");
  EXPECT_EQ(names->pod, "web-0");
  EXPECT_EQ(names->container, "app");
}

TEST(Bundle, OfCrio) {
  const auto names = decode(R"({"annotations":{"io.kubernetes.pod.namespace":"shop","io.kubernetes.pod.name":"web-0",
    "io.kubernetes.container.name":"app","io.kubernetes.cri-o.ContainerType":"container"}})");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->pod + "/" + names->container, "web-0/app");
}

TEST(Bundle, OfASandboxIsNoContainers) {
  EXPECT_EQ(decode(containerd("shop", "web-0", "", "sandbox"))->container, "");
  EXPECT_EQ(decode(R"({"annotations":{"io.kubernetes.pod.namespace":"shop","io.kubernetes.pod.name":"web-0",
    "io.kubernetes.container.name":"POD","io.kubernetes.cri-o.ContainerType":"sandbox"}})")
                ->container,
            "");
}

TEST(Bundle, OfNobodyWeKnow) {
  for (const char* text :
       {"{}", "[]", R"({"annotations":null})", R"({"annotations":{"io.kubernetes.cri.sandbox-name":"x"}})",
        R"({"annotations":{"io.kubernetes.cri.sandbox-name":["x"],"io.kubernetes.cri.sandbox-namespace":5}})"})
    EXPECT_FALSE(decode(text)) << text;
}

testing::Node nested(const std::string& path, testing::Node inner) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return dir(path, {std::move(inner)});
  return nested(path.substr(0, slash), dir(path.substr(slash + 1), {std::move(inner)}));
}

TEST(Bundles, ArePlacedDifferentlyByEachDistribution) {
  const auto task = [](const std::string& before) {
    return nested(before + "/io.containerd.runtime.v2.task/k8s.io/" + kId,
                  file("config.json", containerd("shop", "web-0", "app")));
  };
  const auto overlay = [](const std::string& before) {
    return nested(before + "/overlay-containers/" + kId + "/userdata",
                  file("config.json", containerd("shop", "web-0", "app")));
  };
  for (const testing::Node& place : {task("run/containerd"), task("run/k3s/containerd"), task("run/k0s/containerd"),
                                     task("var/snap/microk8s/common/run/containerd"), overlay("run/containers/storage"),
                                     overlay("var/lib/containers/storage")}) {
    const FakeTree root{place};
    const auto names = Bundles({}, root.path()).find(kId);
    ASSERT_TRUE(names);
    EXPECT_EQ(names->container, "app");
  }
}

TEST(Bundles, ConfiguredFoldersComeFirst) {
  const FakeTree root{nested("run/containerd/io.containerd.runtime.v2.task/k8s.io/" + kId,
                             file("config.json", containerd("a", "b", "preset"))),
                      nested("data/containerd/io.containerd.runtime.v2.task/k8s.io/" + kId,
                             file("config.json", containerd("a", "b", "own")))};
  EXPECT_EQ(Bundles({}, root.path()).find(kId)->container, "preset");
  EXPECT_EQ(Bundles({"/data/containerd"}, root.path()).find(kId)->container, "own");
}

TEST(Bundles, OnlyAnIdIsLookedFor) {
  const FakeTree root{
      nested("run/containerd/io.containerd.runtime.v2.task/k8s.io", file("config.json", containerd("a", "b", "c")))};
  for (const std::string& id : {std::string(), std::string("."), std::string("../k8s.io"), std::string(200, 'a')})
    EXPECT_FALSE(Bundles({}, root.path()).find(id)) << id;
}

TEST(Bundles, BrokenOnesAreNone) {
  const FakeTree root{
      nested("run/containerd/io.containerd.runtime.v2.task/k8s.io/" + kId, file("config.json", "{\"annotations\":"))};
  EXPECT_FALSE(Bundles({}, root.path()).find(kId));
}

}  // namespace
}  // namespace memqos::kube
