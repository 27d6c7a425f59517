// Pure: what a cgroup path says. The kubelet's and the runtimes' naming, systemd and cgroupfs drivers, any root.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memqos::cgroup {

enum class Driver { none, systemd, cgroupfs };
std::string_view name(Driver driver);

// A component that is the root of the kubelet's pods: `kubepods`, `kubepods.slice` or `*-kubepods.slice`.
bool isKubepods(std::string_view component);
// The path up to and including that component; nullopt outside a kubepods tree.
std::optional<std::string> kubepodsOf(std::string_view path);
// The root of the pods or a QoS slice right below it: what many pods share. The mount's root too.
bool isAbovePods(std::string_view path);
// systemd or cgroupfs from the kubepods component of a path; none outside.
Driver driverOf(std::string_view path);

// What the directory of a pod or of one of its containers is.
struct PodPath {
  std::string uid;          // as in the directory's name, systemd's '_' turned back to '-'
  std::string pod;          // path of the pod's cgroup; empty where the container is not below it (mixed drivers)
  std::string container;    // path of the container's cgroup, empty for the pod's own
  std::string containerId;  // 64 hex as a rule
  std::string runtime;      // "containerd", "cri-o", "docker"; empty if the name does not say
};
// nullopt: not a pod's cgroup, or something to be ignored (conmon, sub-cgroups that a container made itself).
std::optional<PodPath> parsePodPath(std::string_view path);

// Every cgroup above `path`, nearest first, the root ("") left out: it has no such files.
std::vector<std::string> ancestorsOf(std::string_view path);
std::string parentOf(std::string_view path);  // "" at the top
// Strictly below; everything but the root is below "".
bool isBelow(std::string_view path, std::string_view ancestor);
// The nearest cgroup that all of them are strictly below; "" is the root.
std::string commonParent(const std::vector<std::string>& paths);

}  // namespace memqos::cgroup
