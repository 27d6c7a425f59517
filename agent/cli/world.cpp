// The real world: this node's kernel, agent and journal.
#include <sys/utsname.h>

#include <chrono>
#include <thread>
#include <utility>

#include "cgroup/cgroup.h"
#include "cgroup/discovery.h"
#include "cgroup/features.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "control/restore.h"
#include "http/client.h"
#include "kube/access.h"
#include "node/node.h"
#include "proc/boot.h"

namespace memqos::cli {
namespace {

// An answer is one page of values that the agent already holds; a restore writes every file that it changed.
constexpr std::chrono::seconds kRequestTimeout{60};
constexpr std::chrono::seconds kRefresh{2};

Result<Reply> request(const std::string& path, const std::string& method, const std::string& target) {
  auto response = http::request(path, method, target, "", kRequestTimeout);
  if (!response) return tl::unexpected(response.error());
  return Reply{response->status, std::move(response->body)};
}

Result<std::pair<cgroup::Hierarchy, cgroup::Root>> findTree() {
  auto hierarchy = cgroup::discover();
  if (!hierarchy) return tl::unexpected(hierarchy.error());
  auto root = cgroup::Root::open(hierarchy->root);
  if (!root) return tl::unexpected(root.error());
  return std::pair{std::move(*hierarchy), std::move(*root)};
}

Result<report::Probe> probeNode() {
  const auto tree = findTree();
  if (!tree) return tl::unexpected(tree.error());
  const auto& [hierarchy, root] = *tree;
  report::Probe probe;
  utsname names{};
  if (uname(&names) == 0) probe.kernel = names.release;
  probe.cgroupVersion = hierarchy.version;
  probe.driver = hierarchy.driver;
  probe.root = hierarchy.root;
  probe.features = cgroup::probe(root, hierarchy);
  return probe;
}

Result<std::vector<report::RestoredFile>> restoreOffline(const std::string& runDir) {
  const auto tree = findTree();
  if (!tree) return tl::unexpected(tree.error());
  const auto bootId = proc::bootId();
  if (!bootId) return tl::unexpected(bootId.error());
  return control::restoreOffline(runDir, tree->second, *bootId);
}

std::string nodeName(const RunFlags& flags) {
  if (!flags.nodeName.empty()) return flags.nodeName;
  if (auto name = kube::processEnvironment("NODE_NAME")) return *name;
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "";
}

int runNode(const RunFlags& flags) {
  node::Options options;
  options.podsDir = flags.pods;
  options.runDir = flags.runDir;
  options.configDir = flags.config.value_or(kDefaultConfigDir);
  options.configMayBeMissing = !flags.config;
  options.kubeconfig = flags.kubeconfig;
  options.nodeName = nodeName(flags);
  options.agentNamespace = kube::processEnvironment("POD_NAMESPACE").value_or("");
  options.agentDaemonSet = kube::processEnvironment("DAEMONSET_NAME").value_or("");
  options.listen = flags.listen;
  return node::run(options);
}

bool pause() {
  std::this_thread::sleep_for(kRefresh);
  return true;
}

}  // namespace

World realWorld() {
  return {.request = request, .probe = probeNode, .restoreOffline = restoreOffline, .run = runNode, .pause = pause};
}

}  // namespace memqos::cli
