// What the agent promises, seen in the kernel: what somebody else writes is put right.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "node/agent_view.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using std::chrono::steady_clock;
using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;
using testing::Workload;

const char* const kResources = "{requests: {memory: 64Mi}}";

std::string line(Bytes bytes) {
  return fmt::format("{}\n", bytes.count);
}

double drift(const AgentProcess& agent, const std::string& file) {
  return metric(agent, fmt::format(R"(memqos_drift_total{{file="{}"}})", file));
}

// The kubelet's MemoryQoS loop: it wants nothing protected, and says so again and again.
TEST(Drift, EachRewriteOfAQosSliceByTheKubeletIsRepaired) {
  constexpr int kRewrites = 8;
  constexpr auto kPeriod = std::chrono::seconds(2);
  const Place place = systemdPlace("burstable", '1');
  const ScopedCgroup container(place.container);
  const std::vector<std::string> slices = {"kubepods.slice", "kubepods.slice/kubepods-burstable.slice"};
  Workload work = Workload::pageCache(container, mebibytes(64));
  ASSERT_TRUE(work.waitReady());
  AgentProcess agent({"lowOnMglru: kernel\n", {}});  // so that min and low can be told apart on every kernel
  agent.pod(
      "db", place.pod,
      {{"cgroup.memqos.io/main", place.container}, {"memqos.io/memory-min", "32Mi"}, {"memqos.io/memory-low", "48Mi"}},
      kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const auto held = [&] {
    return std::all_of(slices.begin(), slices.end(), [](const std::string& slice) {
      const ScopedCgroup cgroup(slice);
      return cgroup.read("memory.min") == line(mebibytes(32)) && cgroup.read("memory.low") == line(mebibytes(48));
    });
  };
  ASSERT_TRUE(waitUntil(held)) << agent.log();

  for (int i = 1; i <= kRewrites; ++i) {
    const auto next = steady_clock::now() + kPeriod;
    for (const std::string& slice : slices) {
      ScopedCgroup(slice).write("memory.min", "0");
      ScopedCgroup(slice).write("memory.low", "0");
    }
    ASSERT_TRUE(waitUntil(held)) << "rewrite " << i << agent.log();
    // Read back: from here on everything that is asked for holds, whoever reclaims.
    pressNode();
    // The kernel may go past the mark by its last batch of pages.
    ASSERT_GE(container.current(), mebibytes(31)) << "rewrite " << i;
    ASSERT_GE(work.cached(), mebibytes(30)) << "rewrite " << i;
    std::this_thread::sleep_until(next);
  }
  // Two slices, each file as often as it was seen to be rewritten.
  EXPECT_TRUE(waitUntil([&] { return drift(agent, "memory.min") == 2 * kRewrites; })) << drift(agent, "memory.min");
  EXPECT_EQ(drift(agent, "memory.low"), 2 * kRewrites);
  // Expected every minute of a node's life: no news.
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());

  EXPECT_EQ(agent.cli({"restore"}).status, 0);
  for (const std::string& slice : slices) EXPECT_EQ(ScopedCgroup(slice).read("memory.min"), "0\n") << slice;
}

TEST(Drift, AForeignWriteIsRepairedThenMoreSlowlyAndIsWhatRestorePutsBack) {
  const Place place = systemdPlace("burstable", '1');
  const ScopedCgroup container(place.container);
  AgentProcess agent;
  const auto declare = [&](std::vector<std::pair<std::string, std::string>> annotations) {
    annotations.emplace_back("cgroup.memqos.io/main", place.container);
    agent.pod("db", place.pod, annotations, kResources);
  };
  declare({{"memqos.io/memory-low", "32Mi"}});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const auto repaired = [&] { return container.read("memory.low") == line(mebibytes(32)); };
  ASSERT_TRUE(waitUntil(repaired)) << agent.log();

  for (int i = 1; i <= 5; ++i) {
    container.write("memory.low", fmt::format("{}M", i));
    ASSERT_TRUE(waitUntil(repaired)) << i << agent.log();
  }
  // Somebody insists: from now on each repair waits, twice as long as the one before.
  for (int i = 6; i <= 7; ++i) {
    const auto before = steady_clock::now();
    container.write("memory.low", fmt::format("{}M", i));
    ASSERT_TRUE(waitUntil(repaired)) << i << agent.log();
    EXPECT_GE(steady_clock::now() - before, std::chrono::seconds(i == 6 ? 1 : 2)) << agent.log();
  }
  EXPECT_TRUE(waitUntil([&] { return drift(agent, "memory.low") == 7; })) << drift(agent, "memory.low");
  EXPECT_EQ(complaints(agent).size(), 7U) << agent.log();
  EXPECT_THAT(agent.log(), ::testing::HasSubstr("writer=unknown"));

  declare({});
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.low") == line(mebibytes(7)); }))
      << container.read("memory.low") << agent.log();
}

TEST(Drift, AForeignMemoryHighIsTheNewBaseline) {
  const Place place = systemdPlace("burstable", '1');
  const ScopedCgroup container(place.container);
  AgentProcess agent;
  agent.pod("db", place.pod, {{"cgroup.memqos.io/main", place.container}, {"memqos.io/memory-high", "128Mi"}},
            kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const auto repaired = [&] { return container.read("memory.high") == line(mebibytes(128)); };
  ASSERT_TRUE(waitUntil(repaired)) << agent.log();
  container.write("memory.high", "max");  // back where it was is a write too
  ASSERT_TRUE(waitUntil(repaired)) << agent.log();
  container.write("memory.high", "96M");
  ASSERT_TRUE(waitUntil(repaired)) << agent.log();
  container.write("memory.high", "512M");
  ASSERT_TRUE(waitUntil(repaired)) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return drift(agent, "memory.high") == 3; })) << drift(agent, "memory.high");
  agent.removeManifest("db");
  EXPECT_TRUE(waitUntil([&] { return container.read("memory.high") == line(mebibytes(512)); }))
      << container.read("memory.high") << agent.log();
}

// A resize rewrites the limit and, with the kubelet's MemoryQoS, memory.high: no quarrel, a new baseline.
TEST(Drift, WhatTheKubeletWritesTogetherWithALimitIsFollowed) {
  const Place place = systemdPlace("burstable", '1');
  const ScopedCgroup container(place.container);
  container.write("memory.max", "256M");
  AgentProcess agent;
  agent.pod("db", place.pod, {{"cgroup.memqos.io/main", place.container}, {"memqos.io/memory-high", "50%"}},
            kResources);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const auto high = [&](Bytes value) {
    return waitUntil([&] { return container.read("memory.high") == line(value); });
  };
  ASSERT_TRUE(high(mebibytes(128))) << agent.log();
  for (int i = 1; i <= 7; ++i) {
    const Bytes limit = mebibytes(256 + 64 * i);
    container.write("memory.max", fmt::format("{}", limit.count));
    container.write("memory.high", fmt::format("{}", limit.count / 4 * 3));
    ASSERT_TRUE(high({limit.count / 2})) << i << container.read("memory.high") << agent.log();
  }
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());
  EXPECT_THAT(agent.log(), ::testing::Not(::testing::HasSubstr("writer=unknown")));
  agent.removeManifest("db");
  EXPECT_TRUE(high(mebibytes((256 + 64 * 7) / 4 * 3))) << container.read("memory.high");
}

}  // namespace
}  // namespace memqos::node
