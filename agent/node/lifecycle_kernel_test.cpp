// What the agent promises, seen in the kernel: pods, containers, manifests and configuration come, change and go.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "cgroup/files.h"
#include "node/agent_view.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;
using testing::Workload;

using Annotations = std::vector<std::pair<std::string, std::string>>;

const std::string kSlice = "kubepods.slice/kubepods-burstable.slice";
const char* const kResources = "{requests: {memory: 64Mi}, limits: {memory: 256Mi}}";

bool becomes(const ScopedCgroup& cgroup, const char* file, const std::string& text) {
  return waitUntil([&] { return cgroup.read(file) == text + "\n"; });
}
bool becomes(const ScopedCgroup& cgroup, const char* file, Bytes value) {
  return becomes(cgroup, file, fmt::format("{}", value.count));
}

bool logSays(const AgentProcess& agent, const std::string& words, std::size_t times = 1) {
  return waitUntil([&] {
    const std::string log = agent.log();
    std::size_t found = 0;
    for (auto at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) ++found;
    return found >= times;
  });
}

class Lifecycle : public ::testing::Test {
 protected:
  // The pod of all these tests, under its name in the cluster.
  void declare(const AgentProcess& agent, Annotations annotations, const char* resources = kResources) const {
    annotations.emplace_back("cgroup.memqos.io/main", place_.container);
    agent.pod("db", place_.pod, annotations, resources);
  }

  const Place place_ = systemdPlace("burstable", '1');
  // Stays when the container's cgroup goes, as the kubelet keeps it.
  const ScopedCgroup pod_{place_.pod};
};

TEST_F(Lifecycle, AManifestWaitsForItsContainerAndServesTheNextOneOfThatName) {
  AgentProcess agent;
  declare(agent, {{"memqos.io/memory-min", "32Mi"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_EQ(at(explained(agent, "default/db", "main", "memory-min"), "takesEffect"), "false");
  EXPECT_EQ(at(explained(agent, "default/db", "main", "memory-min"), "why"), "the container has no cgroup yet");
  for (int start = 1; start <= 3; ++start) {
    const ScopedCgroup container(place_.container);
    EXPECT_TRUE(becomes(container, "memory.min", mebibytes(32))) << start << agent.log();
    EXPECT_TRUE(becomes(pod_, "memory.min", mebibytes(32))) << start << agent.log();
  }
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
}

TEST_F(Lifecycle, APodWaitsUntilTheKubeletMakesItsSlices) {
  const Place other = cgroupfsPlace("burstable", '2');
  AgentProcess agent;
  agent.pod("late", other.pod, {{"cgroup.memqos.io/main", other.container}, {"memqos.io/memory-min", "32Mi"}},
            kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  for (int start = 1; start <= 2; ++start) {
    const ScopedCgroup container(other.container);
    EXPECT_TRUE(becomes(container, "memory.min", mebibytes(32))) << agent.log();
    EXPECT_TRUE(becomes(ScopedCgroup("kubepods"), "memory.min", mebibytes(32))) << agent.log();
  }
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
}

TEST_F(Lifecycle, APodThatIsGoneIsForgotten) {
  AgentProcess agent;
  {
    const ScopedCgroup container(place_.container);
    declare(agent, {{"memqos.io/memory-min", "32Mi"}, {"memqos.io/memory-high", "128Mi"}});
    ASSERT_TRUE(agent.startAndWait()) << agent.log();
    ASSERT_TRUE(becomes(container, "memory.high", mebibytes(128))) << agent.log();
  }
  ASSERT_TRUE(waitUntil([&] { return !std::filesystem::exists(fmt::format("/sys/fs/cgroup/{}", place_.container)); }));
  EXPECT_TRUE(waitUntil([&] {
    return at(explained(agent, "default/db", "main", "memory-min"), "why") == "the container has no cgroup yet";
  })) << agent.cli({"explain", "default/db"}).out;
  // A container between restarts counts; a pod without a manifest does not.
  EXPECT_EQ(pod_.read("memory.min"), fmt::format("{}\n", mebibytes(32).count));
  agent.removeManifest("db");
  EXPECT_TRUE(becomes(pod_, "memory.min", "0")) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return agent.cli({"explain", "default/db"}).status == 1; }));
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
  const auto restored = agent.cli({"restore", "--output", "json"});
  EXPECT_THAT(restored.out, ::testing::Not(::testing::HasSubstr(place_.container)));
}

TEST_F(Lifecycle, AnnotationsChangeAndGo) {
  const ScopedCgroup container(place_.container);
  container.write("memory.swap.max", "64M");
  AgentProcess agent;
  declare(agent, {});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  declare(agent, {{"memqos.io/memory-min", "32Mi"},
                  {"memqos.io/memory-high", "128Mi"},
                  {"memqos.io/swap-max", "16Mi"},
                  {"memqos.io/oom-group", "true"}});
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(32))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.high", mebibytes(128))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.swap.max", mebibytes(16))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.oom.group", "1")) << agent.log();
  declare(agent, {{"memqos.io/memory-min", "48Mi"}, {"memqos.io/memory-high", "160Mi"}});
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(48))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.high", mebibytes(160))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.swap.max", mebibytes(64))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.oom.group", "0")) << agent.log();
  declare(agent,
          {{"memqos.io/memory-min", "48Mi"}, {"memqos.io/memory-high", "160Mi"}, {"memqos.io/managed", "false"}});
  EXPECT_TRUE(becomes(container, "memory.min", "0")) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.high", "max")) << agent.log();
  EXPECT_TRUE(becomes(pod_, "memory.min", "0")) << agent.log();
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
}

TEST_F(Lifecycle, ABrokenManifestKeepsWhatItsPodsHaveAndADeletedOneDoesNot) {
  const ScopedCgroup container(place_.container);
  AgentProcess agent;
  declare(agent, {{"memqos.io/memory-min", "32Mi"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(becomes(container, "memory.min", mebibytes(32))) << agent.log();
  agent.manifest("db", "apiVersion: v1\nkind: Pod\nmetadata: {name: db\n");
  ASSERT_TRUE(logSays(agent, "InvalidManifest")) << agent.log();
  // Another pod is served meanwhile: so what was wrong has been dealt with.
  const ScopedCgroup other(kSlice + "/kubepods-burstable-pod22222222_1111_4222_8333_222222224444.slice/main");
  agent.pod("other", other.path().substr(0, other.path().rfind('/')), {{"memqos.io/memory-min", "16Mi"}}, kResources);
  EXPECT_TRUE(becomes(other, "memory.min", mebibytes(16))) << agent.log();
  EXPECT_EQ(container.read("memory.min"), fmt::format("{}\n", mebibytes(32).count));
  EXPECT_TRUE(becomes(ScopedCgroup(kSlice), "memory.min", mebibytes(48))) << agent.log();
  // One bad value costs that value alone.
  declare(agent, {{"memqos.io/memory-min", "24Mi"}, {"memqos.io/memory-high", "plenty"}});
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(24))) << agent.log();
  EXPECT_TRUE(logSays(agent, "InvalidAnnotation")) << agent.log();
  agent.removeManifest("db");
  EXPECT_TRUE(becomes(container, "memory.min", "0")) << agent.log();
  EXPECT_TRUE(becomes(ScopedCgroup(kSlice), "memory.min", mebibytes(16))) << agent.log();
}

TEST_F(Lifecycle, EachContainerHasItsOwnKeys) {
  const ScopedCgroup app(place_.pod + "/app");
  const ScopedCgroup proxy(place_.pod + "/proxy");
  AgentProcess agent;
  agent.manifest("db", fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: db
  namespace: shop
  annotations:
    memqos.io/cgroup: {}
    memqos.io/memory-min: 16Mi
    memory-min.memqos.io/app: 40Mi
    memory-high.memqos.io/proxy: 96Mi
spec:
  containers:
  - {{name: app, image: none, resources: {{requests: {{memory: 64Mi}}}}}}
  - {{name: proxy, image: none, resources: {{requests: {{memory: 32Mi}}}}}}
)",
                                   place_.pod));
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(becomes(app, "memory.min", mebibytes(40))) << agent.log();
  EXPECT_TRUE(becomes(proxy, "memory.min", mebibytes(16))) << agent.log();
  EXPECT_TRUE(becomes(proxy, "memory.high", mebibytes(96))) << agent.log();
  EXPECT_TRUE(becomes(pod_, "memory.min", mebibytes(56))) << agent.log();
  EXPECT_EQ(app.read("memory.high"), "max\n");
  EXPECT_EQ(at(explained(agent, "shop/db", "app", "memory-min"), "origin"), "annotation memory-min.memqos.io/app");
  EXPECT_EQ(at(explained(agent, "shop/db", "proxy", "memory-min"), "origin"), "annotation memqos.io/memory-min");
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
}

TEST_F(Lifecycle, AResizeInPlaceMovesPercentages) {
  const ScopedCgroup container(place_.container);
  container.write("memory.max", "256M");
  AgentProcess agent;
  declare(agent, {{"memqos.io/memory-high", "50%"}, {"memqos.io/swap-max", "25%"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.high", mebibytes(128))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.swap.max", mebibytes(64))) << agent.log();
  container.write("memory.max", "512M");
  EXPECT_TRUE(becomes(container, "memory.high", mebibytes(256))) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.swap.max", mebibytes(128))) << agent.log();
  pod_.write("memory.max", "200M");  // the pod's is the smaller one
  EXPECT_TRUE(becomes(container, "memory.high", mebibytes(100))) << agent.log();
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
}

TEST_F(Lifecycle, ConfigurationIsFollowedAndAWrongOneIsNot) {
  const ScopedCgroup container(place_.container);
  AgentProcess agent({"classes: {gold: {memoryMin: 32Mi}}\n", {}});
  declare(agent, {{"memqos.io/class", "gold"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(32))) << agent.log();
  const auto configure = [&](const std::string& text) {
    std::ofstream(agent.folder() + "/new.yaml") << text;
    std::filesystem::rename(agent.folder() + "/new.yaml", agent.folder() + "/config/memqos.yaml");
  };
  configure("classes: {gold: {memoryMin: 48Mi}}\n");
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(48))) << agent.log();
  configure("classes: {gold: {memoryMin: lots}}\nqosSlice: observe\n");
  ASSERT_TRUE(logSays(agent, "InvalidConfiguration", 2)) << agent.log();
  ASSERT_EQ(::kill(agent.pid(), SIGHUP), 0);
  // A pod's value after it is the proof that the old configuration went on.
  declare(agent, {{"memqos.io/class", "gold"}, {"memqos.io/oom-group", "true"}});
  EXPECT_TRUE(becomes(container, "memory.oom.group", "1")) << agent.log();
  EXPECT_EQ(container.read("memory.min"), fmt::format("{}\n", mebibytes(48).count));
  configure("classes: {gold: {memoryMin: 24Mi}}\n");
  EXPECT_TRUE(becomes(container, "memory.min", mebibytes(24))) << agent.log();
  EXPECT_EQ(get(agent, "/readyz").status, 200);
  EXPECT_TRUE(agent.running());
}

// Times and contents of all files of a cgroup, as far as somebody who writes could change them.
std::map<std::string, std::string> stateOf(const ScopedCgroup& cgroup) {
  std::map<std::string, std::string> out;
  for (const cgroup::File file : cgroup::kFiles) {
    const std::string path = cgroup.file(cgroup::name(file));
    if (!std::filesystem::exists(path)) continue;  // not in this kernel
    out[path] = fmt::format("{} at {}", cgroup.read(cgroup::name(file)),
                            std::filesystem::last_write_time(path).time_since_epoch().count());
  }
  return out;
}

std::vector<std::string> openBelow(pid_t pid, const std::string& path) {
  std::vector<std::string> out;
  for (const auto& fd : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(fd.path(), gone).string();
    if (target.find(path) != std::string::npos) out.push_back(target);
  }
  return out;
}

TEST_F(Lifecycle, APodThatAsksForNothingIsNotTouched) {
  const Place quiet = systemdPlace("burstable", '2');
  const ScopedCgroup container(place_.container);
  const ScopedCgroup quietContainer(quiet.container);
  const ScopedCgroup quietPod(quiet.pod);
  const auto before = std::pair(stateOf(quietPod), stateOf(quietContainer));
  AgentProcess agent;
  agent.pod("quiet", quiet.pod, {{"cgroup.memqos.io/main", quiet.container}}, kResources);
  declare(agent, {{"memqos.io/memory-min", "32Mi"}, {"memqos.io/memory-high", "128Mi"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(becomes(container, "memory.min", mebibytes(32))) << agent.log();
  ASSERT_TRUE(becomes(container, "memory.high", mebibytes(128))) << agent.log();
  // The look at the other pod is over, and so it is after a rewrite of the slice that they share.
  ScopedCgroup(kSlice).write("memory.min", "0");
  ASSERT_TRUE(becomes(ScopedCgroup(kSlice), "memory.min", mebibytes(32))) << agent.log();
  EXPECT_THAT(openBelow(agent.pid(), quiet.pod), ::testing::IsEmpty());
  EXPECT_THAT(openBelow(agent.pid(), place_.container), ::testing::Not(::testing::IsEmpty()));  // so it would be seen
  EXPECT_EQ(agent.signal(SIGTERM), 0) << agent.log();
  EXPECT_EQ(std::pair(stateOf(quietPod), stateOf(quietContainer)), before);
  EXPECT_THAT(agent.log(), ::testing::Not(::testing::HasSubstr(quiet.pod)));
}

}  // namespace
}  // namespace memqos::node
