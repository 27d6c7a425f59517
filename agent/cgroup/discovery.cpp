#include "cgroup/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "cgroup/cgroup.h"

namespace memqos::cgroup {
namespace {

constexpr std::size_t kDepth = 3;       // kubelet.slice/kubelet-kubepods.slice is at 2
constexpr int kMostDirectories = 4096;  // looked at while searching for kubepods

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    if (text.empty()) break;
    out.emplace_back(text.substr(0, text.find_first_of(" \n")));
    text.remove_prefix(out.back().size());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// What one mount of cgroup v2 is good for.
struct Candidate {
  const proc::Mount* mount = nullptr;
  std::vector<std::string> controllers;
  bool there = false;  // its mount point can be opened
  bool whole = false;  // the tree's real root, not a part of it
};

Candidate lookAt(const proc::Mount& mount) {
  Candidate candidate{&mount, {}, false, false};
  const auto root = Root::open(mount.point);
  if (!root) return candidate;
  const auto top = root->find("");
  if (!top) return candidate;
  candidate.there = true;
  if (const auto text = (*top)->read("cgroup.controllers")) candidate.controllers = words(*text);
  // Every cgroup but the real root has this file; mountinfo's root is relative to our cgroup namespace.
  candidate.whole = !(*top)->exists("cgroup.type");
  return candidate;
}

std::vector<Candidate> unifiedMounts(const proc::MountTable& table, const DiscoverOptions& options) {
  std::vector<Candidate> out;
  for (const auto& mount : table.mounts) {
    if (mount.type == "cgroup2" && options.reachable(mount)) out.push_back(lookAt(mount));
  }
  std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    const auto rank = [](const Candidate& c) { return std::tuple(c.whole, c.there, c.mount->root == "/"); };
    return rank(a) > rank(b);
  });
  return out;
}

// The controllers of v1 that are mounted anywhere, and the mount of the memory controller.
struct V1 {
  std::vector<std::string> controllers;
  const proc::Mount* memory = nullptr;
};

V1 v1Mounts(const proc::MountTable& table, const DiscoverOptions& options) {
  constexpr std::string_view kControllers[] = {"blkio",    "cpu",        "cpuacct", "cpuset", "devices",
                                               "freezer",  "hugetlb",    "memory",  "misc",   "net_cls",
                                               "net_prio", "perf_event", "pids",    "rdma"};
  V1 v1;
  for (const auto& mount : table.mounts) {
    if (mount.type != "cgroup" || !options.reachable(mount)) continue;
    for (const auto controller : kControllers) {
      if (mount.hasSuperOption(controller)) v1.controllers.emplace_back(controller);
    }
    if (!mount.hasSuperOption("memory")) continue;
    if (v1.memory == nullptr || (v1.memory->root != "/" && mount.root == "/")) v1.memory = &mount;
  }
  std::sort(v1.controllers.begin(), v1.controllers.end());
  v1.controllers.erase(std::unique(v1.controllers.begin(), v1.controllers.end()), v1.controllers.end());
  return v1;
}

bool isPopulated(const Cgroup& cgroup) {
  const auto text = cgroup.read("cgroup.events");
  return text && text->find("populated 1") != std::string::npos;
}

}  // namespace

// Breadth first, so that the outermost is found first.
std::string findKubepods(const Root& root) {
  std::vector<std::string> level = {""};
  std::vector<std::string> found;
  int looked = 0;
  for (std::size_t depth = 0; depth < kDepth && !level.empty(); ++depth) {
    std::vector<std::string> next;
    for (const auto& path : level) {
      if (++looked > kMostDirectories) break;
      const auto cgroup = root.find(path);
      if (!cgroup) continue;
      const auto children = (*cgroup)->children();
      if (!children) continue;
      for (const auto& child : *children) {
        const std::string below = path.empty() ? child : fmt::format("{}/{}", path, child);
        (isKubepods(child) ? found : next).push_back(below);
      }
    }
    level = std::move(next);
  }
  for (const auto& path : found) {
    const auto cgroup = root.find(path);
    if (cgroup && isPopulated(**cgroup)) return path;
  }
  return found.empty() ? std::string() : found.front();
}

namespace {

void lookForPods(Hierarchy& hierarchy) {
  const auto root = Root::open(hierarchy.root);
  if (!root) return;
  hierarchy.kubepods = findKubepods(*root);
  hierarchy.driver = driverOf(hierarchy.kubepods);
}

void compare(Hierarchy& hierarchy, const DiscoverOptions& options) {
  if (!options.libcgroup) return;
  const LibcgroupAnswer answer = options.libcgroup();
  if (!answer.usable) {
    hierarchy.note = fmt::format("libcgroup could not be used: {}", answer.problem);
  } else if (answer.memoryMount != hierarchy.root) {
    hierarchy.note = fmt::format("libcgroup names {} for the memory controller, the mounts say {}: that is used",
                                 answer.memoryMount, hierarchy.root);
  }
}

tl::unexpected<Error> none(const std::vector<Candidate>& unified, bool whole) {
  if (unified.empty()) {
    return fail(Code::unsupported,
                "no cgroup file system is mounted: mount cgroup2 on /sys/fs/cgroup, or bind the host's tree there");
  }
  const std::string& point = unified.front().mount->point;
  if (!unified.front().there) {
    return fail(Code::unsupported, "the cgroup root cannot be opened: bind the host's /sys/fs/cgroup there", point);
  }
  if (!whole) {
    return fail(Code::unsupported,
                "only this container's own part of the cgroup tree is mounted: bind the host's /sys/fs/cgroup over it",
                point);
  }
  return fail(Code::unsupported, "the cgroup root has no memory controller: boot without cgroup_disable=memory", point);
}

}  // namespace

Result<Hierarchy> discover(const DiscoverOptions& options) {
  const auto table = proc::readMountinfo(options.procRoot);
  if (!table) return tl::unexpected(table.error());
  const auto unified = unifiedMounts(*table, options);
  const V1 v1 = v1Mounts(*table, options);
  const auto usable = std::find_if(unified.begin(), unified.end(), [](const Candidate& candidate) {
    return candidate.whole && contains(candidate.controllers, "memory");
  });

  Hierarchy hierarchy;
  hierarchy.hybrid = !unified.empty() && !v1.controllers.empty();
  if (usable != unified.end()) {
    hierarchy.root = usable->mount->point;
    hierarchy.controllers = usable->controllers;
    hierarchy.recursiveProt = usable->mount->hasSuperOption("memory_recursiveprot");
  } else if (v1.memory != nullptr) {
    hierarchy.version = 1;
    hierarchy.root = v1.memory->point;
    hierarchy.controllers = v1.controllers;
  } else {
    return none(unified, !unified.empty() && unified.front().whole);
  }
  compare(hierarchy, options);
  lookForPods(hierarchy);
  return hierarchy;
}

Status requireProgrammable(const Hierarchy& hierarchy) {
  if (hierarchy.version == 2) return {};
  return fail(
      Code::unsupported,
      "this node has its memory controller on cgroup v1, where nothing can be programmed: boot with the unified "
      "hierarchy (systemd.unified_cgroup_hierarchy=1)",
      hierarchy.root);
}

}  // namespace memqos::cgroup
