#include "policy/pod.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

TEST(Pod, QosClassOfMemory) {
  struct Row {
    std::string what;
    std::vector<Container> containers;
    std::string podRequest;
    std::string podLimit;
    QosClass qos;
  };
  const auto init = ContainerKind::init;
  const auto ephemeral = ContainerKind::ephemeral;
  const std::vector<Row> rows = {
      {"nothing", {container("a", "", "")}, "", "", QosClass::bestEffort},
      // kubernetes#137685: 0 == 0 is not Guaranteed.
      {"zeros", {container("a", "0", "0")}, "", "", QosClass::bestEffort},
      {"request", {container("a", "1Gi", "")}, "", "", QosClass::burstable},
      {"request below limit", {container("a", "1Gi", "2Gi")}, "", "", QosClass::burstable},
      {"request is limit", {container("a", "1Gi", "1Gi")}, "", "", QosClass::guaranteed},
      {"limit only: the request defaults to it", {container("a", "", "1Gi")}, "", "", QosClass::guaranteed},
      {"explicit request 0", {container("a", "0", "1Gi")}, "", "", QosClass::burstable},
      {"one of two", {container("a", "1Gi", "1Gi"), container("b", "", "")}, "", "", QosClass::burstable},
      {"init counts", {container("a", "1Gi", "1Gi"), container("i", "", "", init)}, "", "", QosClass::burstable},
      {"ephemeral does not",
       {container("a", "1Gi", "1Gi"), container("e", "", "", ephemeral)},
       "",
       "",
       QosClass::guaranteed},
      {"pod level decides", {container("a", "", "")}, "1Gi", "1Gi", QosClass::guaranteed},
      {"pod limit only", {container("a", "", "")}, "", "1Gi", QosClass::guaranteed},
      {"pod limit over a container's request", {container("a", "512Mi", "")}, "", "1Gi", QosClass::burstable},
      {"pod request only", {container("a", "", "")}, "1Gi", "", QosClass::burstable},
  };
  for (const Row& row : rows) {
    Pod pod = podOf(row.containers);
    pod.podRequest = maybeBytes(row.podRequest);
    pod.podLimit = maybeBytes(row.podLimit);
    EXPECT_EQ(qosOf(pod), row.qos) << row.what;
    pod.statusQos = QosClass::burstable;
    EXPECT_EQ(qosOf(pod), QosClass::burstable) << row.what;
  }
}

TEST(Pod, QosNames) {
  EXPECT_EQ(name(QosClass::guaranteed), "Guaranteed");
  EXPECT_EQ(name(QosClass::burstable), "Burstable");
  EXPECT_EQ(name(QosClass::bestEffort), "BestEffort");
}

}  // namespace
}  // namespace memqos::policy
