// Real layouts, walked: what each directory is, and that everything else is nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cgroup/discovery.h"
#include "cgroup/layout.h"
#include "testing/layouts.h"

namespace memqos::cgroup {
namespace {

using testing::FakeTree;
using testing::file;
using testing::Layout;
using testing::LayoutEntry;

class Layouts : public ::testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Recorded, Layouts, ::testing::ValuesIn(testing::layouts()), testing::NamedByLayout());

std::string kindOf(const std::string& path) {
  if (const auto found = parsePodPath(path)) {
    if (found->container.empty()) return "pod";
    return found->container == path ? "container" : "inside";
  }
  const auto root = kubepodsOf(path);
  if (!root || !isAbovePods(path)) return "-";
  if (path == *root) return "kubepods";
  return parentOf(path) == *root ? "qos" : "-";  // a cluster inside of a pod has a root of its own
}

void expectPodOrContainer(const LayoutEntry& entry, const std::string& pod) {
  const auto found = parsePodPath(entry.path);
  ASSERT_TRUE(found) << entry.path;
  if (entry.kind == "pod") {
    EXPECT_EQ(found->uid, entry.word) << entry.path;
    EXPECT_EQ(found->pod, entry.path);
    return;
  }
  const std::string container = entry.kind == "inside" ? parentOf(entry.path) : entry.path;
  EXPECT_EQ(found->container, container);
  EXPECT_EQ(found->pod, isBelow(entry.path, pod) ? pod : "") << entry.path;
  EXPECT_EQ(found->containerId.size(), 64U) << entry.path;
  if (entry.kind == "container") {
    EXPECT_EQ(found->runtime.empty() ? "unnamed" : found->runtime, entry.word) << entry.path;
  }
}

// koordinator#716, #2303, crun#305, #703, linchpiner: paths that an agent took for fixed.
TEST_P(Layouts, EachDirectoryIsWhatItIs) {
  std::string pod;
  for (const LayoutEntry& entry : GetParam().entries) {
    EXPECT_EQ(kindOf(entry.path), entry.kind) << entry.path;
    if (entry.kind == "pod") pod = entry.path;
    if (entry.kind == "pod" || entry.kind == "container" || entry.kind == "inside") expectPodOrContainer(entry, pod);
  }
}

// koordinator: a driver that was read from the kubelet's configuration file, with quotes or a comment around it.
TEST_P(Layouts, VersionDriverAndPodsAreReadFromTheTree) {
  const Layout& layout = GetParam();
  FakeTree tree{testing::dir("proc", {testing::dir("self")}), testing::dir("cg"), testing::dir("unified")};
  testing::build(tree, "cg", layout, file("cgroup.procs", ""));
  std::string mounts;
  if (layout.version == 2) {
    tree.write("cg/cgroup.controllers", "cpu io memory pids\n");
    mounts = fmt::format("30 1 0:26 / {} rw - cgroup2 cgroup2 rw\n", tree.path("cg"));
  } else {
    tree.write("unified/cgroup.controllers", "\n");
    mounts = fmt::format("30 1 0:26 / {} rw - cgroup2 cgroup2 rw\n31 1 0:27 / {} rw - cgroup cgroup rw,memory\n",
                         tree.path("unified"), tree.path("cg"));
  }
  tree.write("proc/self/mountinfo", mounts);
  DiscoverOptions options;
  options.procRoot = tree.path("proc");
  options.reachable = [](const proc::Mount&) { return true; };
  options.libcgroup = nullptr;
  const auto found = discover(options);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->version, layout.version);
  EXPECT_EQ(found->root, tree.path("cg"));
  EXPECT_EQ(name(found->driver), layout.driver);
  EXPECT_EQ(found->kubepods, layout.pods);
  EXPECT_EQ(requireProgrammable(*found).has_value(), layout.version == 2);
}

TEST(LayoutsTest, ThereIsOneOfEachKind) {
  std::map<std::string, int> seen;
  for (const Layout& layout : testing::layouts()) {
    ++seen["v" + std::to_string(layout.version)];
    ++seen[layout.driver];
    for (const LayoutEntry& entry : layout.entries) {
      ++seen[entry.kind];
      if (entry.kind == "container") ++seen[entry.word];
    }
  }
  for (const char* kind : {"v1", "v2", "systemd", "cgroupfs", "none", "kubepods", "qos", "pod", "container", "inside",
                           "-", "containerd", "cri-o", "docker", "unnamed"}) {
    EXPECT_GT(seen[kind], 0) << kind;
  }
}

}  // namespace
}  // namespace memqos::cgroup
