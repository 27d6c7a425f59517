#include "cgroup/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "testing/fake_tree.h"

namespace memqos::cgroup {
namespace {

using testing::cgroupFiles;
using ::testing::Contains;
using testing::dir;
using testing::FakeTree;
using testing::file;
using ::testing::HasSubstr;

class FeaturesTest : public ::testing::Test {
 protected:
  std::vector<Feature> run() {
    hierarchy_.root = tree_.path("cg");
    const auto root = Root::open(tree_.path("cg"));
    return probe(*root, hierarchy_, {tree_.path("proc"), tree_.path("sys")});
  }
  static const Feature& at(const std::vector<Feature>& features, std::string_view name) {
    for (const auto& feature : features) {
      if (feature.name == name) return feature;
    }
    throw std::out_of_range(std::string(name));
  }
  void lruGen(const std::string& text) { tree_.write("sys/kernel/mm/lru_gen/enabled", text); }

  FakeTree tree_{dir("cg", {file("memory.reclaim", "")}),
                 dir("proc", {file("meminfo", "MemTotal: 8 kB\nMemAvailable: 4 kB\n")}),
                 dir("sys", {dir("kernel", {dir("mm", {dir("lru_gen")})})})};
  Hierarchy hierarchy_{2, {}, Driver::systemd, {}, false, {"cpu", "memory"}, true, {}};
};

TEST_F(FeaturesTest, EveryRowOfTheTableIsTriedOnce) {
  std::set<std::string> names;
  for (const auto& feature : run()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_NE(feature.evidence, "") << feature.name;
  }
  EXPECT_EQ(names.size(), featureTable().size());
  for (const auto& info : featureTable()) EXPECT_NE(info.summary, "") << info.name;
}

TEST_F(FeaturesTest, LooksAtACgroupThatIsNoPods) {
  tree_.add("cg", {dir("kubepods.slice", {cgroupFiles({}, {"memory.zswap.max"})}),
                   dir("system.slice", {cgroupFiles({}, {"memory.peak"})})});
  const auto features = run();
  EXPECT_TRUE(has(features, "memory.swap.max"));
  EXPECT_EQ(at(features, "memory.swap.max").evidence, "system.slice has memory.swap.max");
  EXPECT_THAT(at(features, "memory.swap.max").neededBy, Contains("swap-max"));
  EXPECT_TRUE(has(features, "memory.zswap.max"));
  EXPECT_TRUE(lacks(features, "memory.peak"));
  EXPECT_TRUE(has(features, "memory.reclaim"));
  EXPECT_TRUE(has(features, "psi"));
  EXPECT_EQ(tree_.read("cg/system.slice/memory.reclaim"), "0 swappiness=0");
  EXPECT_EQ(tree_.read("cg/kubepods.slice/memory.reclaim"), "");
  EXPECT_EQ(tree_.read("cg/memory.reclaim"), "");
}

TEST_F(FeaturesTest, OnlyPodsThere_LooksButWritesToTheRoot) {
  tree_.add("cg", {dir("kubepods.slice", {cgroupFiles({}, {"memory.peak"})})});
  const auto features = run();
  EXPECT_TRUE(has(features, "memory.oom.group"));
  EXPECT_TRUE(lacks(features, "memory.peak"));
  EXPECT_EQ(tree_.read("cg/kubepods.slice/memory.reclaim"), "");
  EXPECT_EQ(tree_.read("cg/memory.reclaim"), "0 swappiness=0");
}

TEST_F(FeaturesTest, NothingToLookAtIsNotAbsent) {
  tree_.add("cg", {dir("no-memory-controller", {file("cgroup.procs", "")})});
  const auto features = run();
  EXPECT_FALSE(has(features, "memory.swap.max"));
  EXPECT_FALSE(lacks(features, "memory.swap.max"));
  EXPECT_FALSE(at(features, "memory.swap.max").known);
  tree_.remove("cg/memory.reclaim");
  EXPECT_TRUE(lacks(run(), "memory.reclaim"));
  EXPECT_FALSE(has(features, "no such feature"));
  EXPECT_FALSE(lacks(features, "no such feature"));
}

TEST_F(FeaturesTest, PressureThatCannotBeReadIsOff) {
  tree_.add("cg", {dir("system.slice", {cgroupFiles({}, {"memory.pressure"})})});
  EXPECT_TRUE(lacks(run(), "psi"));
  tree_.write("cg/system.slice/memory.pressure", "");
  EXPECT_TRUE(lacks(run(), "psi"));
}

TEST_F(FeaturesTest, MglruIsItsMainSwitch) {
  for (const auto& [text, on] : std::map<std::string, bool>{{"0x0007\n", true},
                                                            {"0x0001\n", true},
                                                            {"0x0003", true},
                                                            {"0x0000\n", false},
                                                            {"0x0006\n", false},
                                                            {"y\n", false},
                                                            {"", false}}) {
    lruGen(text);
    EXPECT_EQ(has(run(), "mglru"), on) << text;
  }
  lruGen("0x0007\n");
  EXPECT_THAT(at(run(), "mglru").evidence, HasSubstr("0x0007"));
  tree_.remove("sys/kernel");
  EXPECT_FALSE(has(run(), "mglru"));
}

TEST_F(FeaturesTest, TakesTheHierarchysWord) {
  EXPECT_TRUE(has(run(), "cgroup-v2"));
  EXPECT_TRUE(has(run(), "recursive-protection"));
  EXPECT_TRUE(has(run(), "mem-available"));
  hierarchy_ = {1, {}, Driver::none, {}, false, {"cpu"}, false, {}};
  tree_.remove("proc/meminfo");
  const auto features = run();
  EXPECT_TRUE(lacks(features, "cgroup-v2"));
  EXPECT_TRUE(lacks(features, "memory-controller"));
  EXPECT_TRUE(lacks(features, "recursive-protection"));
  EXPECT_TRUE(lacks(features, "mem-available"));
}

// runc#3900, below#8135, cadvisor#3052: PSI that is compiled in but off reads as EOPNOTSUPP; not compiled in as ENOENT.
TEST_F(FeaturesTest, WithoutPressureItIsAFeatureThatIsOff) {
  for (const int error : {EOPNOTSUPP, ENOENT, ENODEV, EACCES}) {
    const Verdict verdict = pressureVerdict("system.slice", failErrno(error, "cannot read", "memory.pressure"));
    EXPECT_FALSE(verdict.available) << error;
    EXPECT_TRUE(verdict.known) << error;
    EXPECT_THAT(verdict.evidence, HasSubstr("memory.pressure of system.slice: ")) << error;
  }
  EXPECT_TRUE(pressureVerdict("a", std::string("some avg10=0.00 total=1\n")).available);
}

// moby#29638, #35601, kubernetes#61937: removed cgroups keep their ids while cache is charged to them, until mkdir says
// that there is no space.
TEST_F(FeaturesTest, CgroupsThatDieSlowlyAreCounted) {
  EXPECT_FALSE(at(run(), "cgroup-room").known);
  tree_.write("cg/cgroup.stat", "nr_descendants 100\nnr_dying_descendants 2500\n");
  EXPECT_TRUE(has(run(), "cgroup-room"));
  EXPECT_EQ(at(run(), "cgroup-room").evidence,
            "2600 of at most 65535 memory cgroups, 2500 of them removed but still charged");
  tree_.write("proc/cgroups", "#subsys_name hierarchy num_cgroups enabled\nmemory 11 65535 1\n");
  EXPECT_TRUE(lacks(run(), "cgroup-room"));
  EXPECT_THAT(at(run(), "cgroup-room").evidence, HasSubstr("65535 of at most 65535 memory cgroups, 2500 of them"));
  tree_.remove("cg/cgroup.stat");
  EXPECT_TRUE(lacks(run(), "cgroup-room"));
  EXPECT_THAT(at(run(), "cgroup-room").evidence, HasSubstr("an unknown number"));
  tree_.write("proc/cgroups", "memory 11 62000 1\n");
  EXPECT_TRUE(has(run(), "cgroup-room"));
}

// cadvisor#2583, cri-o#3564, containerd#8870: files that a kernel or a boot option leaves out.
TEST_F(FeaturesTest, AFileThatIsNotThereIsOneFeatureLess) {
  const std::vector<std::string> optional = {"memory.swap.max",  "memory.swap.high", "memory.zswap.max",
                                             "memory.oom.group", "memory.peak",      "memory.zswap.writeback"};
  for (const auto& missing : optional) {
    tree_.add("cg", {dir("system.slice", {cgroupFiles({}, {missing})})});
    const auto features = run();
    for (const auto& name : optional) EXPECT_EQ(has(features, name), name != missing) << missing;
    tree_.remove("cg/system.slice");
  }
}

TEST_F(FeaturesTest, OnV1NothingIsTriedOnPodsAndTheReasonIsOneRow) {
  tree_.add("cg", {dir("kubepods", {file("memory.usage_in_bytes", "0\n"), file("memory.limit_in_bytes", "0\n")})});
  hierarchy_ = {1, {}, Driver::cgroupfs, "kubepods", false, {"cpu", "memory"}, false, {}};
  tree_.remove("cg/memory.reclaim");
  const auto features = run();
  EXPECT_TRUE(lacks(features, "cgroup-v2"));
  EXPECT_THAT(at(features, "cgroup-v2").evidence, HasSubstr("the memory controller is on cgroup v1"));
  EXPECT_TRUE(lacks(features, "memory.reclaim"));
  for (const auto* name : {"memory.swap.max", "memory.oom.group"}) EXPECT_FALSE(has(features, name)) << name;
}

}  // namespace
}  // namespace memqos::cgroup
