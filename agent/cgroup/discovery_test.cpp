#include "cgroup/discovery.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_tree.h"

namespace memqos::cgroup {
namespace {

using testing::cgroupFiles;
using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using testing::file;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Node;

Node root(const std::string& controllers = "cpuset cpu io memory pids") {
  return file("cgroup.controllers", controllers + "\n");
}

class DiscoveryTest : public ::testing::Test {
 protected:
  // `mounts`: lines of mountinfo, %s is the tree's path.
  Result<Hierarchy> run(const std::string& mounts) {
    std::string text;
    for (std::size_t at = 0; at < mounts.size(); ++at) {
      if (mounts.compare(at, 2, "%s") == 0) {
        text += tree_.path();
        ++at;
      } else {
        text += mounts[at];
      }
    }
    tree_.write("proc/self/mountinfo", text);
    DiscoverOptions options;
    options.procRoot = tree_.path("proc");
    options.reachable = [this](const proc::Mount& mount) { return mount.id != covered_; };
    options.libcgroup = [this] { return answer_; };
    return discover(options);
  }

  FakeTree tree_{dir("proc", {dir("self")})};
  int covered_ = -1;
  LibcgroupAnswer answer_{false, {}, "not asked"};
};

const std::string kUnified = "30 1 0:26 / %s/cg rw - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";

TEST_F(DiscoveryTest, FindsUnified) {
  tree_.add("", {dir("cg", {root(), dir("kubepods.slice", {cgroupFiles()}), dir("system.slice", {cgroupFiles()})})});
  answer_ = {true, tree_.path("cg"), {}};
  const auto found = run(kUnified);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, 2);
  EXPECT_EQ(found->root, tree_.path("cg"));
  EXPECT_EQ(found->driver, Driver::systemd);
  EXPECT_EQ(found->kubepods, "kubepods.slice");
  EXPECT_FALSE(found->hybrid);
  EXPECT_THAT(found->controllers, ElementsAre("cpu", "cpuset", "io", "memory", "pids"));
  EXPECT_TRUE(found->recursiveProt);
  EXPECT_EQ(found->note, "");
}

TEST_F(DiscoveryTest, OurReadingWinsOverLibcgroupAndSaysSo) {
  tree_.add("", {dir("cg", {root()})});
  answer_ = {true, "/elsewhere", {}};
  EXPECT_THAT(run(kUnified)->note, HasSubstr("libcgroup names /elsewhere"));
  EXPECT_EQ(run(kUnified)->root, tree_.path("cg"));
  answer_ = {false, {}, "Cgroup is not mounted"};
  EXPECT_EQ(run(kUnified)->note, "libcgroup could not be used: Cgroup is not mounted");
  EXPECT_EQ(run(kUnified)->driver, Driver::none);
}

TEST_F(DiscoveryTest, PrefersTheWholeTreeOverAPart) {
  tree_.add("", {dir("part", {root(), file("cgroup.type", "domain\n")}),
                 dir("bind", {root(), file("cgroup.type", "domain\n")}), dir("whole", {root()})});
  // As a container with the host's tree bound sees it: its own mount first.
  const auto found =
      run("30 1 0:26 / %s/part rw - cgroup2 cgroup rw\n"
          "31 1 0:26 /system.slice %s/bind rw - cgroup2 cgroup rw\n"
          "32 1 0:26 /../.. %s/whole rw - cgroup2 cgroup rw\n");
  EXPECT_EQ(found->root, tree_.path("whole"));
}

TEST_F(DiscoveryTest, ACoveredMountDoesNotCount) {
  tree_.add("", {dir("a", {root()}), dir("b", {root()})});
  const std::string mounts = "30 1 0:26 / %s/a rw - cgroup2 cgroup rw\n31 1 0:26 / %s/b rw - cgroup2 cgroup rw\n";
  EXPECT_EQ(run(mounts)->root, tree_.path("a"));
  covered_ = 30;
  EXPECT_EQ(run(mounts)->root, tree_.path("b"));
}

// runc#4181: leftovers of v1's other controllers say nothing of memory.
TEST_F(DiscoveryTest, JudgesByTheMemoryController) {
  tree_.add("", {dir("unified", {root("")}), dir("memory", {dir("kubepods", {dir("burstable")})})});
  const auto hybrid =
      run("30 1 0:26 / %s/unified rw - cgroup2 cgroup2 rw\n"
          "31 1 0:27 / %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
          "32 1 0:28 / %s/memory rw - cgroup cgroup rw,memory\n"
          "33 1 0:29 / %s/systemd rw - cgroup cgroup rw,name=systemd\n");
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->version, 1);
  EXPECT_EQ(hybrid->root, tree_.path("memory"));
  EXPECT_TRUE(hybrid->hybrid);
  EXPECT_THAT(hybrid->controllers, ElementsAre("cpu", "cpuacct", "memory"));
  EXPECT_EQ(hybrid->driver, Driver::cgroupfs);

  tree_.write("unified/cgroup.controllers", "memory\n");
  const auto leftover =
      run("30 1 0:26 / %s/unified rw - cgroup2 cgroup2 rw\n31 1 0:27 / %s/cpu rw - cgroup cgroup rw,cpu\n");
  EXPECT_EQ(leftover->version, 2);
  EXPECT_TRUE(leftover->hybrid);
}

// koordinator#1275: a panic where the host's cgroup path was absent.
TEST_F(DiscoveryTest, AnAbsentOrEmptyRootIsASentence) {
  const auto sentence = [&](const std::string& mounts) {
    const auto found = run(mounts);
    EXPECT_FALSE(found);
    return found ? std::string() : found.error().text();
  };
  EXPECT_THAT(sentence(kUnified), HasSubstr("the cgroup root cannot be opened")) << "the mount point is not there";
  tree_.add("", {dir("cg")});
  EXPECT_THAT(sentence(kUnified), HasSubstr("memory controller")) << "an empty folder";
  tree_.remove("cg");
  tree_.add("", {file("cg", "")});
  EXPECT_THAT(sentence(kUnified), HasSubstr("the cgroup root cannot be opened")) << "a file";
  EXPECT_THAT(sentence(""), HasSubstr("mount cgroup2"));
  EXPECT_NE(sentence("not a line\n\x1b[2J\n"), "");
}

TEST_F(DiscoveryTest, OnlyTheUnifiedHierarchyCanBeProgrammed) {
  Hierarchy hierarchy;
  EXPECT_TRUE(requireProgrammable(hierarchy));
  hierarchy.version = 1;
  hierarchy.root = "/sys/fs/cgroup/memory";
  const auto refused = requireProgrammable(hierarchy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("boot with the unified hierarchy"));
  EXPECT_THAT(refused.error().text(), HasSubstr("/sys/fs/cgroup/memory"));
}

TEST_F(DiscoveryTest, SaysWhatToDoWithoutAUsableTree) {
  const auto nothing = run("1 0 0:1 / / rw - ext4 /dev/root rw\n");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::unsupported);
  EXPECT_THAT(nothing.error().sentence, HasSubstr("no cgroup file system is mounted"));

  tree_.add("", {dir("cg", {root(), file("cgroup.type", "domain\n")})});
  EXPECT_THAT(run(kUnified).error().sentence, HasSubstr("only this container's own part"));
  tree_.remove("cg/cgroup.type");
  tree_.write("cg/cgroup.controllers", "cpu pids\n");
  EXPECT_THAT(run(kUnified).error().sentence, HasSubstr("no memory controller"));
  tree_.remove("cg");
  EXPECT_FALSE(run(kUnified)) << "a mount point that is not there";

  DiscoverOptions options;
  options.procRoot = tree_.path("none");
  EXPECT_EQ(discover(options).error().code, Code::gone);
}

struct DriverCase {
  std::string name;
  std::vector<Node> nodes;
  std::string kubepods;
  Driver driver;
};

TEST_F(DiscoveryTest, FindsThePodsWhereverTheyAre) {
  const auto populated = file("cgroup.events", "populated 1\n");
  const auto empty = file("cgroup.events", "populated 0\n");
  const std::vector<DriverCase> cases = {
      {"plain host", {dir("system.slice", {dir("sshd.service")})}, "", Driver::none},
      {"custom root, systemd",
       {dir("custom.slice", {dir("custom-kubepods.slice")})},
       "custom.slice/custom-kubepods.slice",
       Driver::systemd},
      {"custom root, cgroupfs", {dir("custom", {dir("kubepods")})}, "custom/kubepods", Driver::cgroupfs},
      {"KinD",
       {dir("kubelet.slice", {dir("kubelet-kubepods.slice")})},
       "kubelet.slice/kubelet-kubepods.slice",
       Driver::systemd},
      {"deep", {dir("a", {dir("b", {dir("kubepods")})})}, "a/b/kubepods", Driver::cgroupfs},
      {"too deep", {dir("a", {dir("b", {dir("c", {dir("kubepods")})})})}, "", Driver::none},
      {"left behind",
       {dir("kubepods", {empty}), dir("kubepods.slice", {populated})},
       "kubepods.slice",
       Driver::systemd},
      {"left behind, both empty",
       {dir("kubepods", {empty}), dir("kubepods.slice", {empty})},
       "kubepods",
       Driver::cgroupfs},
      {"pods inside pods",
       {dir("kubepods", {populated, dir("x", {dir("kubepods.slice", {populated})})})},
       "kubepods",
       Driver::cgroupfs},
  };
  for (const auto& c : cases) {
    tree_.add("", {dir("cg", {root(), testing::group(c.nodes)})});
    const auto found = run(kUnified);
    ASSERT_TRUE(found) << c.name;
    EXPECT_EQ(found->kubepods, c.kubepods) << c.name;
    EXPECT_EQ(found->driver, c.driver) << c.name;
    tree_.remove("cg");
  }
}

}  // namespace
}  // namespace memqos::cgroup
