#include <gtest/gtest.h>

#include "testing/scoped_cgroup.h"
#include "testing/workload.h"

namespace memqos::testing {
namespace {

TEST(Fixtures, ACgroupGoesAwayWithItsProcessesAndParents) {
  std::string top;
  {
    const ScopedCgroup outer("fixture/outer/inner");
    top = std::string(kCgroupMount) + "/fixture";
    auto busy = Workload::anonymous(outer, mebibytes(1));
    ASSERT_TRUE(busy.waitReady());
    EXPECT_EQ(outer.read("cgroup.procs"), std::to_string(busy.pid()) + "\n");
    EXPECT_EQ(::access(top.c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(top.c_str(), F_OK), 0);
}

TEST(Fixtures, PageCacheIsChargedToTheCgroupAndClean) {
  const ScopedCgroup cgroup("fixture-cache");
  auto reader = Workload::pageCache(cgroup, mebibytes(16));
  ASSERT_TRUE(reader.waitReady());
  EXPECT_EQ(reader.cached(), mebibytes(16));
  EXPECT_GE(cgroup.current(), mebibytes(16));
  EXPECT_LT(cgroup.current(), mebibytes(32));
  cgroup.write("memory.reclaim", "8M");
  EXPECT_LT(reader.cached(), mebibytes(9)) << "clean cache can be taken at once";
}

TEST(Fixtures, AnonymousMemoryIsChargedToTheCgroup) {
  const ScopedCgroup cgroup("fixture-anon");
  auto user = Workload::anonymous(cgroup, mebibytes(16));
  ASSERT_TRUE(user.waitReady());
  EXPECT_GE(cgroup.current(), mebibytes(16));
  EXPECT_TRUE(user.running());
  user.stop();
  EXPECT_FALSE(user.running());
  EXPECT_TRUE(waitUntil([&] { return cgroup.current() < mebibytes(8); }));
}

TEST(Fixtures, AnAllocatorGrowsUntilItIsPaused) {
  const ScopedCgroup cgroup("fixture-allocate");
  auto grower = Workload::allocate(cgroup, mebibytes(1), mebibytes(512), std::chrono::milliseconds(5));
  ASSERT_TRUE(grower.waitReady());
  EXPECT_TRUE(waitUntil([&] { return cgroup.current() > mebibytes(8); }));
  grower.pause();
  const auto stopped = [&] {
    const Bytes before = cgroup.current();
    ::usleep(100'000);
    return cgroup.current() == before;
  };
  EXPECT_TRUE(waitUntil(stopped));
  const Bytes then = cgroup.current();
  grower.resume();
  EXPECT_TRUE(waitUntil([&] { return cgroup.current() > then + mebibytes(4); }));
}

TEST(Fixtures, AStreamReadsWithoutEnd) {
  const ScopedCgroup cgroup("fixture-stream");
  auto reader = Workload::stream(cgroup, mebibytes(24));
  ASSERT_TRUE(reader.waitReady());
  // Only now: a limit that the file's dirty pages fill would have the writer killed (seen on 7.3).
  cgroup.write("memory.max", "8388608");
  const auto before = cgroup.stat("pgsteal");
  EXPECT_TRUE(waitUntil([&] { return cgroup.stat("pgsteal") > before + 10'000; }));
  EXPECT_LE(cgroup.current(), mebibytes(8));
}

}  // namespace
}  // namespace memqos::testing
