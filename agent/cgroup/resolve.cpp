#include "cgroup/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cgroup/layout.h"

namespace memqos::cgroup {
namespace {

constexpr std::size_t kLongestPath = 3000;  // with the mount point and a file name well below PATH_MAX

struct Complaint {
  std::string problem;
  std::string advice;
};

std::string_view withoutLeading(std::string_view text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  return text;
}

// What of the value is a path below the mount: without the mount point and slashes around.
std::string_view belowMount(std::string_view value, std::string_view mount) {
  const auto rest = withoutLeading(value, mount);
  if (rest.size() != value.size() && (rest.empty() || rest[0] == '/')) value = rest.substr(rest.empty() ? 0 : 1);
  while (!value.empty() && value.back() == '/') value.remove_suffix(1);
  return value;
}

// Grammar only. The value itself is not repeated: whoever shows the problem shows it too.
std::optional<Complaint> checkText(std::string_view path, const Root& root, std::string_view cgroupRoot) {
  const std::string below =
      fmt::format("write a path below {}{}{}", root.path(), cgroupRoot.empty() ? "" : "/", cgroupRoot);
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(path.begin(), path.end(), isControl)) return Complaint{"contains a control character", below};
  if (path.size() > kLongestPath) return Complaint{fmt::format("is longer than {} bytes", kLongestPath), below};
  if (path.empty()) return Complaint{"names the root of all cgroups", below};
  if (path[0] == '/') {
    return Complaint{fmt::format("is absolute, but not below {}", root.path()),
                     fmt::format("write it relative to {}", root.path())};
  }
  for (std::string_view rest = path;;) {
    const std::size_t slash = rest.find('/');
    const auto component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == "..") {
      return Complaint{
          component.empty() ? "has two slashes in a row" : fmt::format("has the component '{}'", component),
          "write the plain path"};
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (!cgroupRoot.empty() && !isBelow(path, cgroupRoot)) {
    return Complaint{fmt::format("is outside of the configured cgroupRoot {}", cgroupRoot), below};
  }
  if (isAbovePods(path)) {
    return Complaint{"is shared by many pods", "write the path of the pod's or of the container's own cgroup"};
  }
  return std::nullopt;
}

enum class Presence { there, missing, refused };

class Resolver {
 public:
  Resolver(const Root& root, std::string_view cgroupRoot, const PodKeys& keys)
      : root_(root), cgroupRoot_(cgroupRoot), keys_(keys) {}

  Resolved run() {
    if (keys_.pod) {
      if (const auto path = accept(*keys_.pod, "")) out_.pod = *path;
    }
    for (const auto& [container, key] : keys_.containers) {
      if (std::find(keys_.names.begin(), keys_.names.end(), container) == keys_.names.end()) {
        complain(container, key,
                 {fmt::format("the pod has no container '{}'", container), "name a container of the pod"});
      }
    }
    for (const auto& name : keys_.names) placeKeyed(name);
    const bool podNamed = !out_.pod.empty();
    if (podNamed) {
      for (const auto& name : keys_.names) {
        if (paths_.count(name) == 0) placeByName(name);
      }
    } else {
      findPod();
    }
    for (const auto& [name, path] : paths_) {
      out_.podSlice = out_.podSlice || (!out_.pod.empty() && isBelow(path, out_.pod));
    }
    return std::move(out_);
  }

 private:
  void complain(const std::string& container, const PathKey& key, Complaint complaint) {
    out_.problems.push_back({container, key.key, key.value, std::move(complaint.problem), std::move(complaint.advice)});
  }

  // The key's path below the root, if it is allowed.
  std::optional<std::string> accept(const PathKey& key, const std::string& container) {
    const std::string path(belowMount(key.value, root_.path()));
    if (auto complaint = checkText(path, root_, cgroupRoot_)) {
      complain(container, key, std::move(*complaint));
      return std::nullopt;
    }
    if (lookFor(path, container, key) == Presence::refused) return std::nullopt;
    return path;
  }

  Presence lookFor(const std::string& path, const std::string& container, const PathKey& key) {
    const auto found = root_.find(path);
    if (found) return Presence::there;
    const Error& error = found.error();
    if (error.code == Code::gone) return Presence::missing;
    Complaint complaint{error.text(), "write the path of a cgroup"};
    if (error.sysErrno == ELOOP) complaint = {"leads through a symbolic link", "write the path that it leads to"};
    if (error.sysErrno == EXDEV) complaint = {"leads into another mount", "write a path that stays in the cgroup tree"};
    if (error.sysErrno == ENOTDIR) complaint.problem = "is not a directory";
    complain(container, key, std::move(complaint));
    return Presence::refused;
  }

  void place(const std::string& name, const std::string& path) {
    paths_[name] = path;
    (root_.find(path) ? out_.containers : out_.waiting)[name] = path;
  }

  void placeKeyed(const std::string& name) {
    const auto key = keys_.containers.find(name);
    if (key == keys_.containers.end()) return;
    const auto path = accept(key->second, name);
    if (!path) return;
    if (!out_.pod.empty() && *path != out_.pod && !isBelow(*path, out_.pod)) {
      complain(name, key->second,
               {fmt::format("is outside of the pod's cgroup {}", out_.pod),
                "write a path below it, or leave out the pod's key"});
      return;
    }
    for (const auto& [other, taken] : paths_) {
      if (*path != taken && !isBelow(*path, taken) && !isBelow(taken, *path)) continue;
      complain(
          name, key->second,
          {fmt::format("overlaps with {} of container '{}'", taken, other), "give each container a cgroup of its own"});
      return;
    }
    place(name, *path);
  }

  // With the pod's key alone a container's cgroup is the child of its name.
  void placeByName(const std::string& name) {
    const std::string path = out_.pod + "/" + name;
    if (name.find('/') != std::string::npos || checkText(path, root_, cgroupRoot_)) return;  // no name of a container
    const auto found = root_.find(path);
    if (!found && found.error().code != Code::gone) {
      lookFor(path, name, *keys_.pod);
      return;
    }
    for (const auto& [other, taken] : paths_) {
      if (path == taken || isBelow(path, taken) || isBelow(taken, path)) {
        complain(name, *keys_.pod,
                 {fmt::format("{} overlaps with {} of container '{}'", path, taken, other),
                  fmt::format("add a key for container '{}'", name)});
        return;
      }
    }
    place(name, !found && keys_.names.size() == 1 ? out_.pod : path);
  }

  // The containers' keys alone: the cgroup above them is the pod's only where the kubelet's layout says that pods have
  // one.
  void findPod() {
    std::vector<std::string> paths;
    paths.reserve(paths_.size());
    for (const auto& [name, path] : paths_) paths.push_back(path);
    const std::string common = commonParent(paths);
    if (!kubepodsOf(common) || isAbovePods(common) || !isBelow(common, cgroupRoot_)) return;
    out_.pod = common;
  }

  const Root& root_;
  std::string_view cgroupRoot_;
  const PodKeys& keys_;
  std::map<std::string, std::string> paths_;  // of every container that has one, there or not
  Resolved out_;
};

}  // namespace

Resolved resolve(const Root& root, std::string_view cgroupRoot, const PodKeys& keys) {
  return Resolver(root, belowMount(cgroupRoot, root.path()), keys).run();
}

std::string nearestExisting(const Root& root, std::string_view path) {
  std::string at(path);
  while (!at.empty() && !root.find(at)) at = parentOf(at);
  return at;
}

}  // namespace memqos::cgroup
