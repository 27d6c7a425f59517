#include "kube/pods.h"

#include "kube/fake_transport.h"

namespace memqos::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

document::Node parse(const std::string& text) {
  const auto node = document::parseJson(text);
  EXPECT_TRUE(node) << node.error().error.text();
  return node.value_or(document::Node{});
}

const std::string kPod = R"({"kind":"Pod","apiVersion":"v1","metadata":{
  "name":"web-0","namespace":"shop","uid":"u-1","resourceVersion":"5","labels":{"app":"web"},
  "annotations":{"memqos.io/memory-min":"64Mi","memory-high.memqos.io/app":"1Gi","example.com/large":"xxxxxxxxxxxxxxxxxxx",
    "koordinator.sh/memoryQOS":"{}","memory.high.memory-qos.nri.io":"1","memqos/memory-min":"1",
    "kubectl.kubernetes.io/last-applied-configuration":"{}"},
  "managedFields":[{"manager":"kubectl"}]},
 "spec":{"nodeName":"n1","runtimeClassName":"kata","containers":[{"name":"app","resources":{"requests":{"memory":"128Mi"},"limits":{"memory":"1Gi"}}}],
  "initContainers":[{"name":"setup"}],"ephemeralContainers":[{"name":"debug"}]},
 "status":{"phase":"Running","qosClass":"Burstable",
  "containerStatuses":[{"name":"app","containerID":"containerd://aaa","allocatedResources":{"cpu":"1","memory":"96Mi"}},{"name":"stranger","containerID":"x"}],
  "initContainerStatuses":[{"name":"setup","containerID":"containerd://bbb"}],
  "ephemeralContainerStatuses":[{"name":"debug"}]}})";

TEST(Pods, CarryWhatMemqosNeedsAndNothingElse) {
  const auto decoded = decodePod(parse(kPod));
  ASSERT_TRUE(decoded);
  const PodRecord& record = decoded->record;
  std::vector<std::string> keys;
  for (const policy::Annotation& annotation : record.pod.annotations) keys.push_back(annotation.key);
  EXPECT_THAT(keys, ElementsAre("memqos.io/memory-min", "memory-high.memqos.io/app", "koordinator.sh/memoryQOS",
                                "memory.high.memory-qos.nri.io", "memqos/memory-min"));
  EXPECT_TRUE(record.pod.labels.empty());
  EXPECT_EQ(record.pod.runtimeClass, "kata");
  EXPECT_EQ(record.pod.statusQos, policy::QosClass::burstable);
  EXPECT_EQ(record.pod.containers.at(0).memoryRequest, mebibytes(128));
  EXPECT_EQ(record.identity.uid, "u-1");
  EXPECT_THAT(record.identity.containers, UnorderedElementsAre(Pair("app", "containerd://aaa"),
                                                               Pair("setup", "containerd://bbb"), Pair("debug", "")));
  EXPECT_THAT(record.allocated, ElementsAre(Pair("app", mebibytes(96))));
}

TEST(Pods, MostChangesAreNone) {
  document::Node other = parse(kPod);
  other.set("status", parse(R"({"phase":"Pending","qosClass":"Burstable","conditions":[{"type":"Ready"}],
    "containerStatuses":[{"name":"app","ready":true,"containerID":"containerd://aaa","allocatedResources":{"memory":"96Mi"}}],
    "initContainerStatuses":[{"name":"setup","containerID":"containerd://bbb"}]})"));
  EXPECT_EQ(decodePod(parse(kPod))->record, decodePod(other)->record);
}

TEST(Pods, AStaticPodKeepsItsHash) {
  const auto decoded = decodePod(parse(podJson(
      "etcd-n1", "7", R"("annotations":{"kubernetes.io/config.hash":"0123","kubernetes.io/config.mirror":"0123"})")));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->record.identity.configHash, "0123");
  EXPECT_EQ(decoded->record.identity.configMirror, "0123");
}

TEST(Pods, WhatCannotBeUsed) {
  EXPECT_FALSE(decodePod(parse("{}")));
  EXPECT_FALSE(decodePod(parse(R"({"metadata":{"name":"a","namespace":"b"},"spec":{"containers":[{"name":"c"}]}})")))
      << "no uid";
  EXPECT_FALSE(decodePod(parse(R"({"metadata":{"name":"a","uid":"u"}})"))) << "no spec";
  EXPECT_FALSE(decodePod(parse(
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"227"},"spec":{"containers":null},"status":{}})")));
}

TEST(Pods, RecordedListsAreUsable) {
  for (const std::string version : {"kubernetes-1.20", "kubernetes-1.36"}) {
    const document::Node list = parse(recorded(version + "/pod-list.json"));
    for (const document::Node& item : list.find("items")->items) {
      const auto decoded = decodePod(item);
      ASSERT_TRUE(decoded) << version;
      EXPECT_FALSE(decoded->record.pod.containers.empty());
      EXPECT_LE(sizeOf(decoded->record), kBytesPerPod + decoded->record.pod.containers.size() * kBytesPerContainer);
    }
  }
}

// The largest object that the API server takes has 1.5 MiB; of it stays what is stated.
TEST(Pods, TheMemoryOfAPodIsBounded) {
  std::string annotations = R"("annotations":{"example.com/big":")" + std::string(200'000, 'x') + "\"";
  for (int i = 0; i < 2000; ++i)
    annotations += R"(,"memory-min.memqos.io/c)" + std::to_string(i) + R"(":")" + std::string(80, '1') + "\"";
  annotations += R"(},"managedFields":[{"f":")" + std::string(300'000, 'y') + "\"}]";
  document::Node pod = parse(podJson("big", "1", annotations));
  document::Node containers = document::Node::list();
  for (int i = 0; i < 200; ++i)
    containers.add(document::Node::map().set(
        "name", document::Node::string("container-" + std::to_string(i) + std::string(40, 'n'))));
  pod.set("spec", document::Node::map().set("containers", containers));
  const auto decoded = decodePod(pod);
  ASSERT_TRUE(decoded);
  EXPECT_GT(decoded->annotationsLeftOut, 1500U);
  EXPECT_GT(decoded->record.pod.annotations.size(), 100U);
  std::size_t bytes = 0;
  for (const policy::Annotation& item : decoded->record.pod.annotations) bytes += item.key.size() + item.value.size();
  EXPECT_LE(bytes, kAnnotationBytes);
  EXPECT_LE(sizeOf(decoded->record), kBytesPerPod + 3 * kAnnotationBytes + 200 * kBytesPerContainer);
  // A usual pod of two containers: 110 of them are less than half a MiB.
  EXPECT_LE(sizeOf(decodePod(parse(kPod))->record), 4096U);
}

TEST(Pods, HostileStatusesAreLeftOut) {
  document::Node pod = parse(kPod);
  pod.set("status",
          parse(R"({"containerStatuses":[5,{"name":"app","containerID":)" + ("\"" + std::string(10'000, 'a') + "\"") +
                R"(,"allocatedResources":{"memory":"-5"}},{"name":["app"]}],"initContainerStatuses":{}})"));
  const auto decoded = decodePod(pod);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->record.identity.containers.at("app"), "");
  EXPECT_TRUE(decoded->record.allocated.empty());
}

TEST(Pods, AllocatableOfANode) {
  EXPECT_EQ(decodeAllocatable(parse(R"({"status":{"allocatable":{"cpu":"2","memory":"3935464Ki"}}})")),
            Bytes{3935464LL * 1024});
  for (const char* bad : {"{}", R"({"status":{"allocatable":{"memory":"much"}}})",
                          R"({"status":{"allocatable":{"memory":"0"}}})", R"({"status":[]})"})
    EXPECT_EQ(decodeAllocatable(parse(bad)), std::nullopt) << bad;
}

}  // namespace
}  // namespace memqos::kube
