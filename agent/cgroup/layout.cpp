#include "cgroup/layout.h"

#include <algorithm>

namespace memqos::cgroup {
namespace {

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kKubepods = "kubepods";

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// One component of a path, with the path that ends with it.
struct Component {
  std::string_view name;
  std::string_view path;
};

std::vector<Component> split(std::string_view path) {
  std::vector<Component> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back({path.substr(begin, end - begin), path.substr(0, end)});
    begin = end + 1;
  }
  return parts;
}

bool isHexId(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Runtimes write hex; what is asked here is only that a name cannot be anything else than one word.
bool isWord(std::string_view text) {
  const auto ok = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), ok);
}

// "kubepods-burstable-pod11111111_2222.slice", "custom-kubepods-pod1.slice" -> the UID. The kubelet turns '-' of a name
// into '_' since '-' separates the levels of slices (pkg/kubelet/cm, escapeSystemdCgroupName).
std::optional<std::string> uidOfSlice(std::string_view name) {
  if (!endsWith(name, kSlice)) return std::nullopt;
  name.remove_suffix(kSlice.size());
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto last = name.substr(dash + 1);
  auto above = name.substr(0, dash);
  for (const std::string_view qos : {"-burstable", "-besteffort"}) {
    if (endsWith(above, qos)) {
      above.remove_suffix(qos.size());
      break;
    }
  }
  if (above != kKubepods && !endsWith(above, "-kubepods")) return std::nullopt;
  if (!startsWith(last, "pod") || !isWord(last.substr(3))) return std::nullopt;
  std::string uid(last.substr(3));
  std::replace(uid.begin(), uid.end(), '_', '-');
  return uid;
}

// "pod<uid>" in kubepods, kubepods/burstable or kubepods/besteffort.
std::optional<std::string> uidOfDirectory(const std::vector<Component>& parts, std::size_t at) {
  if (at == 0 || !startsWith(parts[at].name, "pod")) return std::nullopt;
  const auto above = parts[at - 1].name;
  const bool inQos = at >= 2 && (above == "burstable" || above == "besteffort") && parts[at - 2].name == kKubepods;
  if (above != kKubepods && !inQos) return std::nullopt;
  std::string uid(parts[at].name.substr(3));
  std::string word = uid;
  std::replace(word.begin(), word.end(), '-', '_');
  if (!isWord(word)) return std::nullopt;
  return uid;
}

struct RuntimePrefix {
  std::string_view prefix;
  std::string_view runtime;
};
constexpr RuntimePrefix kRuntimes[] = {{"cri-containerd", "containerd"}, {"crio", "cri-o"}, {"docker", "docker"}};

struct ContainerName {
  std::string id;
  std::string runtime;
};

// "cri-containerd-<id>.scope", "crio-<id>", "<64 hex>". conmon's own "crio-conmon-<id>.scope" has a '-' too many.
std::optional<ContainerName> parseContainerName(std::string_view name) {
  if (isHexId(name)) return ContainerName{std::string(name), {}};
  if (endsWith(name, kScope)) name.remove_suffix(kScope.size());
  for (const auto& [prefix, runtime] : kRuntimes) {
    if (!startsWith(name, prefix) || name.size() <= prefix.size() || name[prefix.size()] != '-') continue;
    const auto id = name.substr(prefix.size() + 1);
    if (isWord(id)) return ContainerName{std::string(id), std::string(runtime)};
  }
  return std::nullopt;
}

// containerd on the cgroupfs driver under a kubelet on systemd takes the triple for a name:
// "kubepods-burstable-pod<uid>.slice:cri-containerd:<id>".
std::optional<PodPath> parseMismatch(const Component& part) {
  const std::size_t first = part.name.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = part.name.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto uid = uidOfSlice(part.name.substr(0, first));
  const auto prefix = part.name.substr(first + 1, second - first - 1);
  const auto id = part.name.substr(second + 1);
  if (!uid || !isWord(id)) return std::nullopt;
  const auto* known = std::find_if(std::begin(kRuntimes), std::end(kRuntimes),
                                   [&](const RuntimePrefix& runtime) { return runtime.prefix == prefix; });
  if (known == std::end(kRuntimes)) return std::nullopt;
  return PodPath{*uid, {}, std::string(part.path), std::string(id), std::string(known->runtime)};
}

// crun puts the processes into a child of that name; anything else below a container is the container's own business.
bool onlyCrunBelow(const std::vector<Component>& parts, std::size_t container) {
  const std::size_t below = parts.size() - container - 1;
  return below == 0 || (below == 1 && parts.back().name == "container");
}

std::optional<PodPath> parseBelowPod(const std::vector<Component>& parts, std::size_t pod, std::string uid) {
  PodPath out{std::move(uid), std::string(parts[pod].path), {}, {}, {}};
  if (pod + 1 == parts.size()) return out;
  const auto name = parseContainerName(parts[pod + 1].name);
  if (!name || !onlyCrunBelow(parts, pod + 1)) return std::nullopt;
  out.container = std::string(parts[pod + 1].path);
  out.containerId = name->id;
  out.runtime = name->runtime;
  return out;
}

}  // namespace

std::string_view name(Driver driver) {
  switch (driver) {
    case Driver::none:
      return "none";
    case Driver::systemd:
      return "systemd";
    case Driver::cgroupfs:
      return "cgroupfs";
  }
  return "none";
}

bool isKubepods(std::string_view component) {
  return component == kKubepods || component == "kubepods.slice" || endsWith(component, "-kubepods.slice");
}

std::optional<std::string> kubepodsOf(std::string_view path) {
  for (const Component& part : split(path)) {
    if (isKubepods(part.name)) return std::string(part.path);
  }
  return std::nullopt;
}

bool isAbovePods(std::string_view path) {
  const auto parts = split(path);
  if (parts.empty()) return true;
  const auto last = parts.back().name;
  if (isKubepods(last)) return true;
  if (parts.size() < 2 || !isKubepods(parts[parts.size() - 2].name)) return false;
  return last == "burstable" || last == "besteffort" || endsWith(last, "kubepods-burstable.slice") ||
         endsWith(last, "kubepods-besteffort.slice");
}

Driver driverOf(std::string_view path) {
  const auto kubepods = kubepodsOf(path);
  if (!kubepods) return Driver::none;
  return endsWith(*kubepods, kSlice) ? Driver::systemd : Driver::cgroupfs;
}

std::optional<PodPath> parsePodPath(std::string_view path) {
  const auto parts = split(path);
  // The outermost match counts: below it the pod itself may have made directories of any name.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (auto uid = uidOfSlice(parts[i].name)) return parseBelowPod(parts, i, std::move(*uid));
    if (auto uid = uidOfDirectory(parts, i)) return parseBelowPod(parts, i, std::move(*uid));
    if (auto mismatch = parseMismatch(parts[i])) {
      return onlyCrunBelow(parts, i) ? std::move(mismatch) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::vector<std::string> ancestorsOf(std::string_view path) {
  std::vector<std::string> out;
  for (std::string parent = parentOf(path); !parent.empty(); parent = parentOf(parent)) out.push_back(parent);
  return out;
}

std::string parentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

bool isBelow(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty()) return !path.empty();
  return path.size() > ancestor.size() && startsWith(path, ancestor) && path[ancestor.size()] == '/';
}

std::string commonParent(const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  std::string common = parentOf(paths.front());
  const auto covers = [&](const std::string& path) { return isBelow(path, common); };
  while (!common.empty() && !std::all_of(paths.begin(), paths.end(), covers)) common = parentOf(common);
  return common;
}

}  // namespace memqos::cgroup
