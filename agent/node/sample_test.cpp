#include "node/sample.h"

#include <filesystem>

#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;

class SampleTest : public ::testing::Test {
 protected:
  std::vector<Sample> run(const std::vector<std::string>& names) {
    const auto root = cgroup::Root::open(tree_.path());
    std::vector<cgroup::Handle> cgroups;
    for (const std::string& name : names) cgroups.push_back(*root->find(name));
    return sampler_.take(cgroups);
  }
  FakeTree tree_;
  Sampler sampler_;
};

// runc#3900, below#8135, cadvisor#3052: no PSI. cadvisor#2583: no memory.numa_stat. containerd#8870: no swap files.
// What is not there is not known; it is no error, and the rest is read.
TEST_F(SampleTest, OnlyTheUsageIsNeeded) {
  tree_.add("",
            {dir("full", {cgroupFiles({{"memory.current", "4096"}})}),
             dir("bare", {testing::file("memory.current", "8192\n")}),
             dir("odd", {cgroupFiles({{"memory.current", "0"}, {"memory.pressure", ""}, {"memory.events", "junk"}})})});
  const auto samples = run({"full", "bare", "odd"});
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].usage, Bytes{4096});
  EXPECT_TRUE(samples[0].events && samples[0].pressure);
  EXPECT_EQ(samples[1].usage, Bytes{8192});
  EXPECT_FALSE(samples[1].gone);
  EXPECT_FALSE(samples[1].events || samples[1].pressure);
  EXPECT_EQ(samples[2].usage, Bytes{0});
  EXPECT_FALSE(samples[2].events || samples[2].pressure);
}

TEST_F(SampleTest, HeldFilesTellWhatIsNowAndAreLetGo) {
  tree_.add("", {dir("a", {cgroupFiles({{"memory.current", "4096"}})}), dir("b", {cgroupFiles()})});
  EXPECT_EQ(run({"a", "b"}).at(0).usage, Bytes{4096});
  tree_.write("a/memory.current", "8192\n");
  EXPECT_EQ(run({"a"}).at(0).usage, Bytes{8192});
  std::size_t held = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    held += std::filesystem::read_symlink(entry.path(), gone).string().starts_with(tree_.path() + "/b/") ? 1U : 0U;
  }
  EXPECT_EQ(held, 0U);
}

TEST_F(SampleTest, TheUsageOfCgroupV1IsReadToo) {
  tree_.add("", {dir("old", {testing::file("memory.usage_in_bytes", "8192\n")})});
  EXPECT_EQ(run({"old"}).at(0).usage, Bytes{8192});
  EXPECT_FALSE(run({"old"}).at(0).gone);
}

// cadvisor#1843, #2306: a cgroup that is being removed is gone, which is no error.
TEST_F(SampleTest, ARemovedCgroupIsGoneAndTheOthersAreRead) {
  tree_.add("", {dir("a", {cgroupFiles({{"memory.current", "4096"}})}), dir("b", {cgroupFiles()})});
  const auto root = cgroup::Root::open(tree_.path());
  const std::vector<cgroup::Handle> cgroups = {*root->find("b"), *root->find("a")};
  tree_.remove("b");
  const auto samples = sampler_.take(cgroups);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_TRUE(samples[0].gone);
  EXPECT_EQ(samples[0].usage, std::nullopt);
  EXPECT_FALSE(samples[1].gone);
  EXPECT_EQ(samples[1].usage, Bytes{4096});
}

}  // namespace
}  // namespace memqos::node
