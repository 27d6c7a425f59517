// For kernel tests: what a running agent says of itself, a node under pressure, and where the kubelet puts pods.
#pragma once

#include <string>
#include <vector>

#include "document/node.h"
#include "http/message.h"
#include "testing/agent_process.h"

namespace memqos::node {

// A GET over the agent's socket; status 0: nobody answers.
http::Response get(const testing::AgentProcess& agent, const std::string& target);

// The value of one series of /metrics, written as it is exposed; -1: not there.
double metric(const testing::AgentProcess& agent, const std::string& series);

// One knob of one container as `explain NAMESPACE/NAME --output json` shows it; null: not shown.
document::Node explained(const testing::AgentProcess& agent, const std::string& pod, const std::string& container,
                         const std::string& knob);
// A field of such a row as text; "-": not there.
std::string at(const document::Node& row, std::string_view key);

// The lines of the agent's log at warning or error.
std::vector<std::string> complaints(const testing::AgentProcess& agent);

// What a node short of memory does to its pods: kswapd starts, then everything there is is asked of the root cgroup.
// The start of kswapd counts: the kernel works out effective protection from the top down only there; a memory.reclaim
// of the root with the multi-generational LRU goes by what it knew before (mm/vmscan.c, lru_gen_age_node() and
// shrink_one()).
void pressNode();

// Where a pod's only container runs.
struct Place {
  std::string pod;
  std::string container;
};
// As the systemd driver and containerd name them. `qos`: burstable, besteffort, or empty for Guaranteed; `uid` is any
// one hexadecimal digit; `parent` is what the kubelet's cgroupRoot puts above, such as "kubelet".
Place systemdPlace(const std::string& qos, char uid, const std::string& parent = "");
// As the cgroupfs driver and CRI-O name them.
Place cgroupfsPlace(const std::string& qos, char uid);

}  // namespace memqos::node
