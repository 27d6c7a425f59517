// What the agent promises, seen in the kernel: what is protected stays when the node is under pressure.
#include <fmt/format.h>

#include "cgroup/layout.h"
#include "node/agent_view.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;
using testing::Workload;

using Annotations = std::vector<std::pair<std::string, std::string>>;

constexpr Bytes kBurstableMin = mebibytes(32);
constexpr Bytes kGuaranteedMin = mebibytes(48);
// The kernel takes pages in batches, so that it may go past the mark by one of them.
constexpr Bytes kBatch = mebibytes(1);

std::string line(Bytes bytes) {
  return fmt::format("{}\n", bytes.count);
}

// A container of a pod with more page cache than is protected, and a process that holds nothing else.
class Container {
 public:
  Container(Place place, Bytes limit, Bytes cache)
      : place_(std::move(place)), cgroup_(place_.container), work_(start(cgroup_, limit, cache)) {}
  bool waitReady() { return work_.waitReady(); }
  [[nodiscard]] const ScopedCgroup& cgroup() const { return cgroup_; }
  [[nodiscard]] Bytes cached() const { return work_.cached(); }
  void declare(const AgentProcess& agent, const std::string& name, Annotations annotations,
               const std::string& resources) const {
    annotations.emplace_back("cgroup.memqos.io/main", place_.container);
    agent.pod(name, place_.pod, annotations, resources);
  }
  // At least `least` is left, but for the last batch; of it all but the process' own pages is the cache.
  void expectKept(Bytes least) const {
    EXPECT_GE(cgroup_.current(), least - kBatch);
    [[maybe_unused]] const std::string flushed = cgroup_.read("cpu.stat");  // memory.stat is exact after it, until 6.15
    EXPECT_GE(cgroup_.stat("file"), (least - kBatch - kBatch).count);
    EXPECT_GE(cached(), least - kBatch - kBatch);
  }

 private:
  static Workload start(const ScopedCgroup& cgroup, Bytes limit, Bytes cache) {
    cgroup.write("memory.max", fmt::format("{}", limit.count));
    return Workload::pageCache(cgroup, cache);
  }

  Place place_;
  ScopedCgroup cgroup_;
  Workload work_;
};

// Three pods of a node: Burstable and Guaranteed that ask for memory.min, and one that does not.
class Pods {
 public:
  Pods(const Place& burstable, const Place& guaranteed, const Place& other)
      : burstable_(burstable, mebibytes(128), mebibytes(64)),
        guaranteed_(guaranteed, mebibytes(96), mebibytes(64)),
        other_(other, mebibytes(128), mebibytes(64)) {}
  bool waitReady() { return burstable_.waitReady() && guaranteed_.waitReady() && other_.waitReady(); }
  void declare(const AgentProcess& agent) const {
    burstable_.declare(agent, "burstable", {{"memqos.io/memory-min", "32Mi"}},
                       "{requests: {memory: 64Mi}, limits: {memory: 128Mi}}");
    guaranteed_.declare(agent, "guaranteed", {{"memqos.io/memory-min", "50%"}},
                        "{requests: {memory: 96Mi}, limits: {memory: 96Mi}}");
    other_.declare(agent, "other", {}, "{requests: {memory: 64Mi}, limits: {memory: 128Mi}}");
  }
  [[nodiscard]] const Container& burstable() const { return burstable_; }
  [[nodiscard]] const Container& guaranteed() const { return guaranteed_; }
  [[nodiscard]] const Container& other() const { return other_; }

 private:
  Container burstable_, guaranteed_, other_;
};

struct Layout {
  const char* name;
  Place burstable, guaranteed, other;
};
void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.name;
}

std::string minOf(const std::string& cgroup) {
  return ScopedCgroup(cgroup).read("memory.min");
}

class ProtectionIn : public ::testing::TestWithParam<Layout> {};

TEST_P(ProtectionIn, OutlivesReclaimOfTheRoot) {
  const Layout& layout = GetParam();
  Pods pods(layout.burstable, layout.guaranteed, layout.other);
  ASSERT_TRUE(pods.waitReady());
  AgentProcess agent;
  pods.declare(agent);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const Bytes both = kBurstableMin + kGuaranteedMin;
  // The pod's slice and the slices above it, up to the mount: the kernel caps a cgroup by each of them.
  std::map<std::string, Bytes> held = {{layout.burstable.container, kBurstableMin},
                                       {layout.guaranteed.container, kGuaranteedMin},
                                       {layout.guaranteed.pod, kGuaranteedMin},
                                       {layout.burstable.pod, kBurstableMin}};
  for (const std::string& above : cgroup::ancestorsOf(layout.burstable.pod)) held[above] = kBurstableMin;
  for (const std::string& above : cgroup::ancestorsOf(layout.guaranteed.pod)) held[above] = both;
  for (const auto& [path, value] : held) {
    EXPECT_TRUE(waitUntil([&] { return minOf(path) == line(value); })) << path << ": " << minOf(path) << agent.log();
  }

  pressNode();
  pods.burstable().expectKept(kBurstableMin);
  pods.guaranteed().expectKept(kGuaranteedMin);
  EXPECT_LE(pods.other().cached(), mebibytes(4));

  const document::Node row = explained(agent, "default/guaranteed", "main", "memory-min");
  EXPECT_EQ(at(row, "asked"), "50%");
  EXPECT_EQ(at(row, "effective"), fmt::format("{}", kGuaranteedMin.count));
  EXPECT_EQ(at(row, "takesEffect"), "true");
  EXPECT_EQ(at(row, "why"), "");
  EXPECT_EQ(
      metric(
          agent,
          R"(memqos_protection_effective_bytes{namespace="default",pod="burstable",container="main",file="memory.min"})"),
      static_cast<double>(kBurstableMin.count))
      << get(agent, "/metrics").body;
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
  EXPECT_EQ(pods.other().cgroup().read("memory.min"), "0\n");
}

std::string nameOf(const ::testing::TestParamInfo<Layout>& layout) {
  return layout.param.name;
}
INSTANTIATE_TEST_SUITE_P(Layouts, ProtectionIn,
                         ::testing::Values(Layout{"systemd", systemdPlace("burstable", '1'), systemdPlace("", '2'),
                                                  systemdPlace("besteffort", '3')},
                                           Layout{"cgroupfs", cgroupfsPlace("burstable", '1'), cgroupfsPlace("", '2'),
                                                  cgroupfsPlace("besteffort", '3')},
                                           Layout{"nested", systemdPlace("burstable", '1', "kubelet"),
                                                  systemdPlace("", '2', "kubelet"),
                                                  systemdPlace("besteffort", '3', "kubelet")}),
                         nameOf);

TEST(Protection, IsVoidWhereTheQosSlicesAreOnlyObservedAndExplainSaysSo) {
  Pods pods(systemdPlace("burstable", '1'), systemdPlace("", '2'), systemdPlace("besteffort", '3'));
  ASSERT_TRUE(pods.waitReady());
  AgentProcess agent({"qosSlices: observe\n", {}});
  pods.declare(agent);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return minOf(systemdPlace("", '2').pod) == line(kGuaranteedMin); })) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return pods.burstable().cgroup().read("memory.min") == line(kBurstableMin); }));
  EXPECT_EQ(minOf("kubepods.slice"), "0\n");
  EXPECT_EQ(minOf("kubepods.slice/kubepods-burstable.slice"), "0\n");

  pressNode();
  EXPECT_LE(pods.burstable().cached(), mebibytes(4));
  EXPECT_LE(pods.guaranteed().cached(), mebibytes(4));

  for (const std::string pod : {"default/burstable", "default/guaranteed"}) {
    const document::Node row = explained(agent, pod, "main", "memory-min");
    EXPECT_EQ(at(row, "takesEffect"), "false");
    EXPECT_EQ(at(row, "effective"), "0");
    EXPECT_THAT(at(row, "why"), ::testing::HasSubstr("kubepods.slice"));
    EXPECT_THAT(at(row, "why"), ::testing::HasSubstr("qosSlices: observe"));
  }
  EXPECT_THAT(agent.cli({"explain", "default/burstable"}).out, ::testing::HasSubstr("qosSlices: observe"));
  EXPECT_EQ(
      metric(
          agent,
          R"(memqos_protection_effective_bytes{namespace="default",pod="burstable",container="main",file="memory.min"})"),
      0);

  // What the operator sets above by hand counts at once.
  ScopedCgroup("kubepods.slice").write("memory.min", "1G");
  ScopedCgroup("kubepods.slice/kubepods-burstable.slice").write("memory.min", "512M");
  EXPECT_TRUE(waitUntil([&] {
    return at(explained(agent, "default/burstable", "main", "memory-min"), "takesEffect") == "true";
  })) << agent.cli({"explain", "default/burstable"}).out;
  EXPECT_EQ(minOf("kubepods.slice"), line(kGiB));
}

TEST(Protection, KeepsWhatTheKubeletHoldsAboveThePods) {
  const Place place = systemdPlace("burstable", '1');
  const ScopedCgroup container(place.container);
  const ScopedCgroup qos("kubepods.slice/kubepods-burstable.slice");
  qos.write("memory.min", "100M");
  AgentProcess agent;
  agent.pod("db", place.pod, {{"cgroup.memqos.io/main", place.container}, {"memqos.io/memory-min", "32Mi"}},
            "{requests: {memory: 64Mi}}");
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent.log();
  // It counts with what it holds, one level up as well.
  EXPECT_TRUE(waitUntil([&] { return minOf("kubepods.slice") == line(mebibytes(100)); })) << minOf("kubepods.slice");
  EXPECT_EQ(qos.read("memory.min"), line(mebibytes(100)));
  qos.write("memory.min", "0");
  EXPECT_TRUE(waitUntil([&] { return minOf("kubepods.slice") == line(mebibytes(32)); })) << minOf("kubepods.slice");
  EXPECT_TRUE(waitUntil([&] { return qos.read("memory.min") == line(mebibytes(32)); })) << qos.read("memory.min");
}

// kubernetes/kubernetes#126485, kubernetes/kubernetes#126498, kubernetes/kubernetes#137880: all of the limit as
// memory.min, and whoever writes files is killed although the cache is clean.
TEST(Protection, WhoAsksForAllOfItsLimitStillWritesFilesLargerThanThat) {
  const Place place = systemdPlace("", '4');
  const ScopedCgroup container(place.container);
  container.write("memory.max", "128M");
  container.write("memory.swap.max", "0");
  AgentProcess agent;
  agent.pod("writer", place.pod, {{"cgroup.memqos.io/main", place.container}, {"memqos.io/memory-min", "100%"}},
            "{requests: {memory: 128Mi}, limits: {memory: 128Mi}}");
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(96)); })) << agent.log();
  auto writer = Workload::pageCache(container, mebibytes(384));
  EXPECT_TRUE(writer.waitReady());
  EXPECT_TRUE(writer.running());
  EXPECT_THAT(container.read("memory.events"), ::testing::HasSubstr("oom_kill 0\n"));
}

TEST(Protection, OutsideAKubepodsTreeStopsAtThePod) {
  const ScopedCgroup container("services/db/main");
  AgentProcess agent;
  agent.pod("db", "services/db", {{"memqos.io/memory-min", "32Mi"}}, "{requests: {memory: 64Mi}}");
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return minOf("services/db") == line(mebibytes(32)); }));
  EXPECT_EQ(minOf("services"), "0\n");
  const document::Node row = explained(agent, "default/db", "main", "memory-min");
  EXPECT_EQ(at(row, "takesEffect"), "false");
  EXPECT_THAT(at(row, "why"), ::testing::HasSubstr("services"));
}

}  // namespace
}  // namespace memqos::node
