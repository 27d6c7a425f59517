// The daemon: wires the rooms together and pumps values between them.
#pragma once

#include <optional>
#include <string>

namespace memqos::node {

struct Options {
  std::string podsDir;     // standalone: a folder of pod manifests; empty: in a cluster
  std::string kubeconfig;  // access to the cluster; empty: as a pod has it
  std::string configDir = "/etc/memqos";
  bool configMayBeMissing = true;  // the default folder need not exist
  std::string runDir = "/run/memqos";
  std::string nodeName;               // defaults to the host's name
  std::optional<std::string> listen;  // beats metrics.listen of the configuration
  std::string helperPath;             // memqos-helper; empty: beside the agent's own executable
  std::string agentNamespace;         // of the agent's own DaemonSet, to notice an uninstall; empty: not known
  std::string agentDaemonSet;
  [[nodiscard]] bool inCluster() const { return podsDir.empty(); }
};

// Runs until a signal. The exit status: 0 stopped as asked, 1 a misconfiguration, 2 the node lacks what is needed; the
// sentence is in the log.
int run(const Options& options);

}  // namespace memqos::node
