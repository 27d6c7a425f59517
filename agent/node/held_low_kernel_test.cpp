// memory.low made real where the multi-generational LRU is on. Runs in a guest of 600 MiB: with memory to spare, or
// with few other cgroups, the kernel's own behaviour looks fine.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "node/agent_view.h"
#include "testing/agent_process.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;
using testing::Workload;

const std::string kBurstable = "kubepods.slice/kubepods-burstable.slice";
const std::string kPod = kBurstable + "/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";
const char* const kResources = "{requests: {memory: 256Mi}}";

bool mglruIsOn() {
  std::string enabled;
  std::ifstream("/sys/kernel/mm/lru_gen/enabled") >> enabled;
  return !enabled.empty() && (std::stoi(enabled, nullptr, 16) & 1) != 0;
}

// A dozen other cgroups with a little cache each, as any node has.
class Neighbours {
 public:
  Neighbours() {
    for (int i = 0; i < 12; ++i) {
      cgroups_.push_back(std::make_unique<ScopedCgroup>("neighbour" + std::to_string(i)));
      caches_.push_back(Workload::pageCache(*cgroups_.back(), mebibytes(8)));
    }
    for (Workload& cache : caches_) EXPECT_TRUE(cache.waitReady());
  }

 private:
  std::vector<std::unique_ptr<ScopedCgroup>> cgroups_;
  std::vector<Workload> caches_;
};

// Reads more than the node has, from holes: page cache without a disk.
void streamPastMemory() {
  const ScopedCgroup reader("reader");
  Workload stream = Workload::streamHoles(reader, mebibytes(800), 5);
  EXPECT_TRUE(stream.waitReady());
}

std::int64_t vmstat(const std::string& key) {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == key) return value;
  }
  return -1;
}

Bytes cacheLeft(const std::string& config) {
  const ScopedCgroup container(kPod + "/main");
  AgentProcess agent({config, {}});
  agent.pod("web", kPod, {{"memqos.io/memory-low", "64Mi"}}, kResources);
  EXPECT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.low") == "67108864\n"; })) << agent.log();
  auto cache = Workload::pageCache(container, mebibytes(40));
  EXPECT_TRUE(cache.waitReady());
  const Neighbours neighbours;
  streamPastMemory();
  return cache.cached();
}

TEST(HeldLow, FiveStreamsLeaveTheCache) {
  EXPECT_GE(cacheLeft(""), mebibytes(39));
}

TEST(HeldLow, WithoutTheHoldTheyDoNot) {
  if (!mglruIsOn()) GTEST_SKIP() << "the classic LRU keeps memory.low by itself";
  // How much is lost depends on where the kernel's walk over the cgroups stands: all of it on 6.12, some on 7.3.
  Bytes least = cacheLeft("lowOnMglru: kernel\n");
  for (int again = 0; again < 2 && least >= mebibytes(39); ++again) {
    least = std::min(least, cacheLeft("lowOnMglru: kernel\n"));
  }
  EXPECT_LT(least, mebibytes(39));
}

TEST(HeldLow, NothingHeldOutlivesTheAgent) {
  if (!mglruIsOn()) GTEST_SKIP() << "nothing is held where the LRU is classic";
  const ScopedCgroup container(kPod + "/main");
  AgentProcess agent;
  agent.pod("web", kPod, {{"memqos.io/memory-low", "64Mi"}, {"memqos.io/memory-min", "16Mi"}}, kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  for (const int signal : {9, 15}) {
    // The container's files are written last; before that the plan is not in the kernel.
    ASSERT_TRUE(waitUntil([&] {
      return container.read("memory.min") == "67108864\n" && container.read("memory.low") == "67108864\n";
    })) << agent.log();
    agent.signal(signal);
    ASSERT_TRUE(agent.waitForWatchdog());
    for (const std::string& path : {kPod + "/main", kPod, kBurstable, std::string("kubepods.slice")}) {
      std::string value;
      std::ifstream("/sys/fs/cgroup/" + path + "/memory.min") >> value;
      EXPECT_EQ(value, "16777216") << path << " after signal " << signal;
      std::ifstream("/sys/fs/cgroup/" + path + "/memory.low") >> value;
      EXPECT_EQ(value, "67108864") << path << " after signal " << signal;
    }
    ASSERT_TRUE(agent.startAndWait()) << agent.log();
  }
}

TEST(HeldLow, TheValveOpensBeforeAnythingIsKilledAndClosesAgain) {
  if (!mglruIsOn()) GTEST_SKIP() << "nothing is held where the LRU is classic";
  const ScopedCgroup container(kPod + "/main");
  AgentProcess agent;
  agent.pod("web", kPod, {{"memqos.io/memory-low", "192Mi"}}, kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return container.read("memory.min") == "201326592\n"; })) << agent.log();
  auto cache = Workload::pageCache(container, mebibytes(180));
  ASSERT_TRUE(cache.waitReady());
  const std::int64_t kills = vmstat("oom_kill");
  {
    // Fits only where the cache gives way.
    const ScopedCgroup hungry("hungry");
    auto hog = Workload::allocate(hungry, mebibytes(1), mebibytes(360), std::chrono::milliseconds(20));
    EXPECT_TRUE(
        waitUntil([&] { return hungry.current() >= mebibytes(355) || !hog.running(); }, std::chrono::seconds(120)));
    EXPECT_TRUE(hog.running());
    EXPECT_EQ(vmstat("oom_kill"), kills);
    EXPECT_EQ(container.read("memory.min"), "0\n") << agent.log();
    EXPECT_EQ(container.read("memory.low"), "201326592\n");
    EXPECT_EQ(metric(agent, R"(memqos_low_valve_open{namespace="default",pod="web",container="main"})"), 1);
  }
  EXPECT_NE(agent.log().find("LowValveOpened"), std::string::npos);
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == "201326592\n"; }, std::chrono::seconds(180)))
      << agent.log();
  EXPECT_EQ(metric(agent, R"(memqos_low_valve_open{namespace="default",pod="web",container="main"})"), 0);
}

TEST(HeldLow, APodAtItsOwnLimitIsLetGoAlone) {
  if (!mglruIsOn()) GTEST_SKIP() << "nothing is held where the LRU is classic";
  const std::string other = kBurstable + "/kubepods-burstable-pod99999999_2222_3333_4444_555555555555.slice";
  const ScopedCgroup container(kPod + "/main");
  const ScopedCgroup bystander(other + "/main");
  container.write("memory.max", "96M");
  AgentProcess agent;
  agent.pod("web", kPod, {{"memqos.io/memory-low", "48Mi"}}, "{requests: {memory: 64Mi}, limits: {memory: 96Mi}}");
  agent.pod("calm", other, {{"memqos.io/memory-low", "32Mi"}}, kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] {
    return container.read("memory.min") == "50331648\n" && bystander.read("memory.min") == "33554432\n";
  })) << agent.log();
  auto stream = Workload::stream(container, mebibytes(128));
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.min") == "0\n"; })) << agent.log();
  EXPECT_EQ(bystander.read("memory.min"), "33554432\n");
}

}  // namespace
}  // namespace memqos::node
