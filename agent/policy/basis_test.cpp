#include "policy/basis.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

const auto kInit = ContainerKind::init;
const auto kSidecar = ContainerKind::sidecar;
const auto kEphemeral = ContainerKind::ephemeral;

TEST(Basis, Limit) {
  struct Row {
    std::string what;
    std::string specLimit;
    std::string specPodLimit;
    std::optional<Limit> kernel;
    std::optional<Limit> kernelPod;
    Bytes allocatable;
    Limit limit;
    bool isNode;
  };
  const Limit max = Limit::max();
  const std::vector<Row> rows = {
      {"spec", "1Gi", "", {}, {}, kGiB, mebibytes(1024), false},
      {"the pod's is smaller", "1Gi", "512Mi", {}, {}, mebibytes(4096), mebibytes(512), false},
      {"a resize that is not in the kernel yet", "1Gi", "", mebibytes(256), {}, mebibytes(4096), mebibytes(256), false},
      {"unlimited in the kernel", "1Gi", "", max, {}, mebibytes(4096), mebibytes(4096), true},
      {"the pod's in the kernel before the container runs",
       "1Gi",
       "",
       {},
       mebibytes(300),
       mebibytes(4096),
       mebibytes(300),
       false},
      {"none", "", "", {}, {}, mebibytes(4096), mebibytes(4096), true},
      {"0 is none", "0", "0", {}, {}, mebibytes(4096), mebibytes(4096), true},
      {"nothing is known", "", "", {}, {}, Bytes{}, max, false},
      {"a limit of one byte (containerd#5226)", "1Gi", "", Limit(Bytes{1}), {}, kGiB, Bytes{1}, false},
  };
  for (const Row& row : rows) {
    Pod pod = podOf("", row.specLimit, {});
    pod.podLimit = maybeBytes(row.specPodLimit);
    PodFacts facts;
    facts.podLimit = row.kernelPod;
    facts.containers["app"].limit = row.kernel;
    const Basis basis = basesOf(pod, facts, {row.allocatable, kPage}).at(0);
    EXPECT_EQ(basis.limit, row.limit) << row.what;
    EXPECT_EQ(basis.limitIsNode, row.isNode) << row.what;
  }
}

TEST(Basis, Request) {
  struct Row {
    std::string what;
    std::vector<Container> containers;
    std::string podRequest;
    std::string podLimit;
    std::vector<std::string> requests;
  };
  const std::vector<Row> rows = {
      {"own", {container("a", "100Mi", "200Mi")}, "", "", {"100Mi"}},
      {"defaults to the limit", {container("a", "", "200Mi")}, "", "", {"200Mi"}},
      {"explicitly none", {container("a", "0", "200Mi")}, "", "", {"0"}},
      {"none", {container("a", "", "")}, "", "", {"0"}},
      {"pod level, shared equally", {container("a", "", ""), container("b", "", "")}, "100Mi", "", {"50Mi", "50Mi"}},
      {"less the siblings'",
       {container("a", "60Mi", ""), container("b", "", ""), container("c", "", "")},
       "100Mi",
       "",
       {"60Mi", "20Mi", "20Mi"}},
      {"nothing left", {container("a", "100Mi", ""), container("b", "", "")}, "100Mi", "", {"100Mi", "0"}},
      {"more than the pod's", {container("a", "200Mi", ""), container("b", "", "")}, "100Mi", "", {"200Mi", "0"}},
      {"sidecars share", {container("s", "", "", kSidecar), container("a", "", "")}, "100Mi", "", {"50Mi", "50Mi"}},
      {"init runs beside sidecars only",
       {container("s", "20Mi", "", kSidecar), container("i", "", "", kInit), container("a", "", "")},
       "100Mi",
       "",
       {"20Mi", "80Mi", "80Mi"}},
      {"debugging changes nothing",
       {container("a", "", ""), container("e", "", "", kEphemeral)},
       "100Mi",
       "",
       {"100Mi", "0"}},
      {"pod limit only", {container("a", "", ""), container("b", "", "")}, "", "100Mi", {"50Mi", "50Mi"}},
      {"pod limit, a container's request",
       {container("a", "10Mi", ""), container("b", "", "")},
       "",
       "100Mi",
       {"10Mi", "0"}},
  };
  for (const Row& row : rows) {
    Pod pod = podOf(row.containers);
    pod.podRequest = maybeBytes(row.podRequest);
    pod.podLimit = maybeBytes(row.podLimit);
    const auto bases = basesOf(pod, {}, kNode);
    ASSERT_EQ(bases.size(), row.requests.size());
    for (std::size_t i = 0; i < bases.size(); ++i) {
      EXPECT_EQ(bases[i].request, bytesOf(row.requests[i])) << row.what << " " << i;
    }
  }
}

TEST(Basis, AllocatedRequestBeatsTheSpec) {
  ContainerFacts facts;
  facts.allocatedRequest = mebibytes(64);
  EXPECT_EQ(basesOf(podOf("96Mi", "96Mi", {}), factsOf(facts), kNode).at(0).request, mebibytes(64));
}

TEST(Basis, MostMin) {
  EXPECT_EQ(mostMin(Limit::max()), Limit::max());
  EXPECT_EQ(mostMin(mebibytes(1000)), Limit(mebibytes(900)));
  EXPECT_EQ(mostMin(mebibytes(320)), Limit(mebibytes(288)));
  EXPECT_EQ(mostMin(mebibytes(100)), Limit(mebibytes(68)));
  EXPECT_EQ(mostMin(mebibytes(32)), Limit());
  EXPECT_EQ(mostMin(Bytes{}), Limit());
}

}  // namespace
}  // namespace memqos::policy
