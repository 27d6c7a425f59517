// What memqos reads of cgroup v1, on a real one.
#include <fstream>
#include <sstream>

#include "cgroup/discovery.h"
#include "cgroup/features.h"
#include "cgroup/stat.h"
#include "testing/scoped_cgroup.h"
#include "testing/workload.h"

namespace memqos::cgroup {
namespace {

using testing::ScopedCgroup;
using testing::Workload;

constexpr const char* kMemory = "/sys/fs/cgroup/memory";

TEST(DiscoveryV1, TheMemoryControllersMountIsTheRoot) {
  const auto before = discover();
  ASSERT_TRUE(before) << before.error().text();
  EXPECT_EQ(before->version, 1);
  EXPECT_EQ(before->root, kMemory);
  EXPECT_EQ(before->note, "");
  EXPECT_THAT(before->controllers, ::testing::Contains("memory"));
  EXPECT_EQ(before->driver, Driver::none);
  const ScopedCgroup slice("kubepods", kMemory);
  EXPECT_EQ(discover()->driver, Driver::cgroupfs);
  EXPECT_EQ(discover()->kubepods, "kubepods");
  EXPECT_FALSE(requireProgrammable(*before));
}

// opencontainers/runc#4181: what other controllers' trees hold decides nothing.
TEST(DiscoveryV1, LeftoversOfOtherControllersDecideNothing) {
  const ScopedCgroup leftover("kubepods.slice", "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(discover()->driver, Driver::none);
}

// opencontainers/runc#2816: v1 says `cache` where v2 says `file`. kubernetes/kubernetes#43916: a node full of active
// cache.
TEST(StatV1, PageCacheAndAnonymousMemoryAreWhereTheKernelPutsThem) {
  const ScopedCgroup cgroup("stat", kMemory);
  auto cache = Workload::streamHoles(cgroup, mebibytes(16), 2);
  auto heap = Workload::anonymous(cgroup, mebibytes(8));
  ASSERT_TRUE(cache.waitReady() && heap.waitReady());
  const auto stat = parseMemoryStatV1(cgroup.read("memory.stat"));
  ASSERT_TRUE(stat) << stat.error().text();
  EXPECT_GE(stat->pageCache(), mebibytes(15));
  EXPECT_GE(stat->anon, mebibytes(8));
  EXPECT_GE(stat->reclaimable(), mebibytes(15));
  EXPECT_LT(stat->reclaimable(), mebibytes(23));
}

// moby/moby#29638: removed cgroups stay as long as something is charged to them.
TEST(FeaturesV1, CgroupsAreCountedDyingOnesIncluded) {
  std::stringstream text;
  text << std::ifstream("/proc/cgroups").rdbuf();
  const auto before = parseMemoryCgroups(text.str());
  ASSERT_TRUE(before);
  const ScopedCgroup one("one", kMemory);
  text.str("");
  text << std::ifstream("/proc/cgroups").rdbuf();
  EXPECT_EQ(parseMemoryCgroups(text.str()).value(), *before + 1);
}

TEST(FeaturesV1, SaysWhatIsNotThere) {
  const auto hierarchy = discover().value();
  const auto root = Root::open(hierarchy.root).value();
  const auto features = probe(root, hierarchy);
  EXPECT_FALSE(has(features, "cgroup-v2"));
  EXPECT_FALSE(has(features, "memory.reclaim"));
  EXPECT_TRUE(has(features, "cgroup-room"));
}

}  // namespace
}  // namespace memqos::cgroup
