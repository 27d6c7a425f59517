// The agent in a cluster, on a real kernel: an API server on a socket, a runtime's bundles, and the kubelet's cgroups
// played by the test.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kube/fake_api.h"
#include "node/agent_view.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScopedCgroup;
using testing::waitUntil;

constexpr const char* kUid = "11111111-2222-3333-4444-555555555555";
const std::string kSlice = "kubepods.slice/kubepods-burstable.slice";
const std::string kPod = kSlice + "/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";

std::string idOf(char digit) {
  return std::string(64, digit);
}
std::string scopeOf(char digit) {
  return kPod + "/cri-containerd-" + idOf(digit) + ".scope";
}
std::string line(Bytes bytes) {
  return fmt::format("{}\n", bytes.count);
}

// shop/web-0 with container "app", as the API server has it.
std::string pod(int version, const std::string& annotations, const std::string& status = "") {
  return fmt::format(
      R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"web-0","namespace":"shop","uid":"{}","resourceVersion":"{}","annotations":{{{}}}}},)"
      R"("spec":{{"nodeName":"n1","containers":[{{"name":"app","resources":{{"requests":{{"memory":"64Mi"}},"limits":{{"memory":"256Mi"}}}}}}]}},)"
      R"("status":{{"phase":"Pending","qosClass":"Burstable"{}}}}})",
      kUid, version, annotations, status);
}

// What containerd leaves for a container before it makes its cgroup.
class Bundle {
 public:
  explicit Bundle(char digit, const std::string& podName = "web-0", const std::string& container = "app")
      : folder_("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + idOf(digit)) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/config.json") << fmt::format(
        R"({{"annotations":{{"io.kubernetes.cri.container-type":"container","io.kubernetes.cri.container-name":"{}",)"
        R"("io.kubernetes.cri.sandbox-name":"{}","io.kubernetes.cri.sandbox-namespace":"shop"}}}})",
        container, podName);
  }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;
  ~Bundle() { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;
};

class ClusterMode : public ::testing::Test {
 protected:
  ClusterMode() {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("cluster{}", ::getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/ca.crt") << kube::FakeApi::ca().certificate;
    std::ofstream(folder_ + "/kubeconfig") << fmt::format(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
        "clusters: [{{name: k, cluster: {{server: '{}', certificate-authority: ca.crt}}}}]\n"
        "users: [{{name: u, user: {{token: secret}}}}]\n",
        api_.server().url());
    ::setenv("POD_NAMESPACE", "memqos-system", 1);
    ::setenv("DAEMONSET_NAME", "memqos", 1);
    agent_ = std::make_unique<AgentProcess>(
        AgentProcess::Options{.config = "", .arguments = {"--node-name", "n1"}, .kubeconfig = folder_ + "/kubeconfig"});
  }
  ~ClusterMode() override {
    agent_.reset();
    std::filesystem::remove_all(folder_);
  }
  bool start(const std::string& annotations) {
    api_.setPods("10", {pod(10, annotations)});
    agent_->start();
    return waitUntil([&] { return get(*agent_, "/readyz").status == 200; });
  }
  kube::FakeApi api_;
  std::string folder_;
  std::unique_ptr<AgentProcess> agent_;
};

TEST_F(ClusterMode, AContainerIsProgrammedWhenItsCgroupAppears) {
  const ScopedCgroup slice(kSlice);
  ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
  const ScopedCgroup podCgroup(kPod);
  const Bundle bundle('a');
  const ScopedCgroup container(scopeOf('a'));  // the API server knows nothing of it
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  EXPECT_TRUE(waitUntil([&] { return podCgroup.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  EXPECT_TRUE(waitUntil([&] { return slice.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
}

TEST_F(ClusterMode, AnnotationsAreFollowedAndARestartedContainerToo) {
  const ScopedCgroup podCgroup(kPod);
  const Bundle first('a');
  auto container = std::make_unique<ScopedCgroup>(scopeOf('a'));
  ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
  ASSERT_TRUE(waitUntil([&] { return container->read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  api_.push(kube::eventJson("MODIFIED", pod(11, R"("memqos.io/memory-min":"48Mi")")));
  EXPECT_TRUE(waitUntil([&] { return container->read("memory.min") == line(mebibytes(48)); })) << agent_->log();
  container->remove();
  const Bundle second('b');
  const ScopedCgroup successor(scopeOf('b'));
  EXPECT_TRUE(waitUntil([&] { return successor.read("memory.min") == line(mebibytes(48)); })) << agent_->log();
  api_.push(kube::eventJson("MODIFIED", pod(12, "")));
  EXPECT_TRUE(waitUntil([&] { return successor.read("memory.min") == "0\n"; })) << agent_->log();
  EXPECT_TRUE(waitUntil([&] { return podCgroup.read("memory.min") == "0\n"; })) << agent_->log();
}

TEST_F(ClusterMode, WithoutABundleTheStatusDecidesAndAnothersBundleNever) {
  const ScopedCgroup podCgroup(kPod);
  const Bundle foreign('c', "web-1");
  const ScopedCgroup claimed(scopeOf('c'));
  const ScopedCgroup container(scopeOf('a'));
  ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
  api_.push(kube::eventJson(
      "MODIFIED", pod(11, R"("memqos.io/memory-min":"32Mi")",
                      R"(,"containerStatuses":[{"name":"app","containerID":"containerd://)" + idOf('a') + "\"}]")));
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  EXPECT_EQ(claimed.read("memory.min"), "0\n");
}

TEST_F(ClusterMode, AKeyThatNamesACgroupIsRefusedWithAnEvent) {
  const ScopedCgroup victim("victim");
  const ScopedCgroup podCgroup(kPod);
  const Bundle bundle('a');
  const ScopedCgroup container(scopeOf('a'));
  ASSERT_TRUE(start(R"("memqos.io/cgroup":"victim","memqos.io/memory-min":"32Mi")")) << agent_->log();
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  EXPECT_EQ(victim.read("memory.min"), "0\n");
  const std::string path = "/apis/events.k8s.io/v1/namespaces/shop/events";
  EXPECT_TRUE(waitUntil([&] { return api_.count("POST", path) > 0; })) << agent_->log();
  std::vector<std::string> bodies;
  for (const auto& request : api_.server().requests()) {
    if (request.method == "POST") bodies.push_back(request.body);
  }
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_THAT(bodies[0], AllOf(HasSubstr("InvalidAnnotation"), HasSubstr("memqos.io/cgroup"), HasSubstr(kUid)));
}

TEST_F(ClusterMode, AnOutageChangesNothing) {
  const ScopedCgroup podCgroup(kPod);
  const Bundle bundle('a');
  const ScopedCgroup container(scopeOf('a'));
  ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  api_.away = true;
  api_.server().breakConnections();
  const std::string broken = R"(memqos_watch_restarts_total{reason="broken"})";
  EXPECT_TRUE(waitUntil([&] { return metric(*agent_, broken) >= 2; })) << agent_->log();
  EXPECT_EQ(container.read("memory.min"), line(mebibytes(32)));
  EXPECT_EQ(get(*agent_, "/readyz").status, 200);
  container.write("memory.min", "0");  // drift is repaired all the same
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  api_.away = false;
  api_.push(kube::eventJson("MODIFIED", pod(11, R"("memqos.io/memory-min":"48Mi")")));
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(48)); })) << agent_->log();
}

TEST_F(ClusterMode, AnUpdateKeepsWhatAnUninstallTakesAlong) {
  const ScopedCgroup podCgroup(kPod);
  const Bundle bundle('a');
  const ScopedCgroup container(scopeOf('a'));
  for (const bool uninstall : {false, true}) {
    SCOPED_TRACE(uninstall);
    api_.daemonSetStatus = 200;
    ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
    ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
    const std::string seen = R"(memqos_api_requests_total{verb="get",resource="daemonsets",code="200"})";
    ASSERT_TRUE(waitUntil([&] { return metric(*agent_, seen) >= 1; })) << agent_->log();
    if (uninstall) api_.daemonSetStatus = 404;
    EXPECT_EQ(agent_->signal(SIGTERM), 0) << agent_->log();
    EXPECT_EQ(container.read("memory.min"), uninstall ? "0\n" : line(mebibytes(32)));
    EXPECT_EQ(podCgroup.read("memory.min"), uninstall ? "0\n" : line(mebibytes(32)));
  }
}

// The Node is known first: until the pods are as well, nobody knows what is still wanted.
TEST_F(ClusterMode, NothingIsPutBackBeforeTheFirstList) {
  const ScopedCgroup podCgroup(kPod);
  const Bundle bundle('a');
  const ScopedCgroup container(scopeOf('a'));
  ASSERT_TRUE(start(R"("memqos.io/memory-min":"32Mi")")) << agent_->log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == line(mebibytes(32)); })) << agent_->log();
  agent_->signal(SIGKILL);
  api_.podsAway = true;
  agent_->start();
  const std::string listed = R"(memqos_api_requests_total{verb="list",resource="nodes",code="200"})";
  ASSERT_TRUE(waitUntil([&] { return metric(*agent_, listed) >= 1; })) << agent_->log();
  const std::string refused = R"(memqos_api_requests_total{verb="list",resource="pods",code="500"})";
  ASSERT_TRUE(waitUntil([&] { return metric(*agent_, refused) >= 2; })) << agent_->log();
  EXPECT_EQ(get(*agent_, "/readyz").status, 503);
  EXPECT_EQ(container.read("memory.min"), line(mebibytes(32)));
  api_.podsAway = false;
  EXPECT_TRUE(waitUntil([&] { return get(*agent_, "/readyz").status == 200; })) << agent_->log();
  EXPECT_EQ(container.read("memory.min"), line(mebibytes(32)));
  EXPECT_THAT(agent_->log(), Not(HasSubstr("restored")));
}

// Idle, with as many pods as a node has.
TEST_F(ClusterMode, TheMemoryOf110Pods) {
  std::vector<std::string> pods = {pod(10, R"("memqos.io/memory-min":"32Mi")")};
  for (int i = 0; i < 109; ++i) {
    pods.push_back(fmt::format(
        R"({{"metadata":{{"name":"p{0}","namespace":"shop","uid":"uid-{0}","resourceVersion":"{0}","managedFields":[{{"f":"{1}"}}]}},)"
        R"("spec":{{"nodeName":"n1","containers":[{{"name":"app","env":[{{"name":"X","value":"{1}"}}]}}]}},"status":{{}}}})",
        i, std::string(5000, 'x')));
  }
  api_.setPods("200", pods);
  agent_->start();
  ASSERT_TRUE(waitUntil([&] { return get(*agent_, "/readyz").status == 200; })) << agent_->log();
  EXPECT_TRUE(waitUntil([&] { return metric(*agent_, R"(memqos_pods{state="unmanaged"})") == 109; }));
  std::ifstream status(fmt::format("/proc/{}/status", agent_->pid()));
  for (std::string row; std::getline(status, row);) {
    const bool anonymous = row.starts_with("RssAnon:");
    if (!anonymous && !row.starts_with("VmRSS:")) continue;
    const std::int64_t kib = std::stoll(row.substr(row.find(':') + 1));
    RecordProperty(anonymous ? "RssAnon_KiB" : "VmRSS_KiB", static_cast<int>(kib));
    std::printf("%s\n", row.c_str());
    EXPECT_LE(kib, (anonymous ? 8 : 24) * 1024);
  }
}

}  // namespace
}  // namespace memqos::node
