#include "node/reclaim_sample.h"

#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;
using testing::file;

TEST(SlowLook, ReadsAllThatDecisionsNeed) {
  FakeTree tree{
      dir("pod", {cgroupFiles({{"memory.swap.max", "8192"}, {"memory.swap.current", "4096"}}),
                  dir("app", {cgroupFiles({{"memory.current", "65536"},
                                           {"memory.stat", "file 40960\nshmem 4096\nfile_mapped 8192\npgsteal 7"},
                                           {"memory.events", "low 0\nhigh 1\nmax 2\noom 0\noom_kill 0"},
                                           {"memory.swap.max", "max"},
                                           {"memory.swap.current", "4096"}})})})};
  const auto root = *cgroup::Root::open(tree.path());
  const auto pod = *root.find("pod");
  const auto app = *root.find("pod/app");
  const reclaim::Stat stat = slowLook(*app, pod.get(), true);
  EXPECT_FALSE(stat.gone);
  EXPECT_EQ(stat.id, app->id());
  EXPECT_EQ(stat.usage, Bytes{65536});
  EXPECT_EQ(stat.memory.shmem, Bytes{4096});
  EXPECT_EQ(stat.events.max, 2);
  EXPECT_EQ(stat.swapUsed, Bytes{4096});
  EXPECT_EQ(stat.swapRoom, Limit(Bytes{4096})) << "the pod's";
  EXPECT_TRUE(slowLook(*app, nullptr, false).swapRoom.isMax());
  KernelHands hands(app);
  EXPECT_EQ(hands.usage(), Bytes{65536});
  EXPECT_EQ(hands.cache(), Bytes{40960 - 4096 - 8192});
  tree.remove("pod/app");
  EXPECT_TRUE(slowLook(*app, pod.get(), true).gone);
  EXPECT_FALSE(KernelHands(app).usage());
  EXPECT_FALSE(KernelHands(app).populated());
}

TEST(KernelHands, AsksForTheKindOfPages) {
  FakeTree tree{dir("app", {cgroupFiles({{"cgroup.events", "populated 1\nfrozen 0"}})})};
  const auto app = *(*cgroup::Root::open(tree.path())).find("app");
  KernelHands hands(app);
  EXPECT_TRUE(hands.populated());
  hands.write(mebibytes(1), reclaim::Mode::mixed);
  EXPECT_EQ(tree.read("app/memory.reclaim"), "1048576");
  hands.write(mebibytes(1), reclaim::Mode::file);
  EXPECT_EQ(tree.read("app/memory.reclaim"), "1048576 swappiness=0");
  hands.write(mebibytes(1), reclaim::Mode::anon);
  EXPECT_EQ(tree.read("app/memory.reclaim"), "1048576 swappiness=max");
}

TEST(Swaps, AreZramOnlyOrNot) {
  const std::string heading = "Filename\tType\tSize\tUsed\tPriority\n";
  EXPECT_TRUE(onlyZram(heading));
  EXPECT_TRUE(onlyZram(""));
  EXPECT_TRUE(onlyZram(heading + "/dev/zram0 partition 262140 0 -2\n"));
  EXPECT_FALSE(onlyZram(heading + "/dev/zram0 partition 262140 0 -2\n/dev/sda2 partition 1 0 -3\n"));
  EXPECT_FALSE(onlyZram(heading + "/swapfile file 1 0 -3"));
}

TEST(NodeStat, IsTheNodesSwap) {
  FakeTree tree{file("meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\nSwapTotal: 8 kB\nSwapFree: 4 kB\n"),
                file("swaps", "Filename\n/dev/dm-1 partition 8 4 -2\n")};
  const reclaim::NodeStat node = nodeStat(tree.path());
  EXPECT_EQ(node.swapTotal, Bytes{8192});
  EXPECT_EQ(node.swapFree, Bytes{4096});
  EXPECT_FALSE(node.zramOnly);
}

TEST(ReadAhead, IsTheLargestOfAllDevices) {
  const auto disk = [](const char* name, const char* kib) {
    return dir(name, {dir("queue", {file("read_ahead_kb", kib)})});
  };
  FakeTree tree{dir("block", {disk("vda", "128\n"), disk("vdb", "8192\n"), disk("sr0", "-4\n"), disk("odd", "many\n"),
                              dir("bare", {})})};
  EXPECT_EQ(largestReadAhead(tree.path()), mebibytes(8));
  tree.write("block/vdb/queue/read_ahead_kb", "0\n");
  EXPECT_EQ(largestReadAhead(tree.path()), Bytes{128 * 1024});
  EXPECT_EQ(largestReadAhead(tree.path() + "/nothing"), Bytes{0});
}

TEST(IsolatedCpus, AreListedByTheKernel) {
  FakeTree tree{
      dir("devices", {dir("system", {dir("cpu", {file("isolated", "\n"), file("nohz_full", "  (null)\n")})})})};
  EXPECT_EQ(isolatedCpus(tree.path()), "");
  tree.write("devices/system/cpu/nohz_full", "2-3\n");
  EXPECT_EQ(isolatedCpus(tree.path()), "2-3");
  tree.write("devices/system/cpu/isolated", "1\n");
  EXPECT_EQ(isolatedCpus(tree.path()), "1");
}

}  // namespace
}  // namespace memqos::node
