// What the agent does where the memory controller is on cgroup v1: it finds, measures and explains, and writes nothing.
#include <fmt/format.h>

#include "node/agent_view.h"
#include "testing/touch_watch.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;

constexpr const char* kMemory = "/sys/fs/cgroup/memory";

TEST(OnV1, PodsAreFoundAndMeasuredAndNothingIsProgrammed) {
  const Place place = cgroupfsPlace("burstable", '1');
  const ScopedCgroup container(place.container, kMemory);
  const ScopedCgroup other("kubepods/burstable/podother/main", kMemory);
  container.write("memory.limit_in_bytes", "256M");
  auto cache = testing::Workload::streamHoles(container, mebibytes(16), 1);
  ASSERT_TRUE(cache.waitReady());
  const std::string softLimit = container.read("memory.soft_limit_in_bytes");
  const testing::TouchWatch watch({other.file("")});

  AgentProcess agent;
  agent.pod("db", place.pod,
            {{"cgroup.memqos.io/main", place.container},
             {"memqos.io/memory-min", "32Mi"},
             {"memqos.io/memory-high", "50%"},
             {"memqos.io/reclaim", "watermark"}},
            "{requests: {memory: 64Mi}, limits: {memory: 512Mi}}");
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  const char* usage = R"(memqos_usage_bytes{namespace="default",pod="db",container="main"})";
  EXPECT_TRUE(waitUntil([&] { return metric(agent, usage) >= static_cast<double>(mebibytes(15).count); }))
      << get(agent, "/metrics").body;

  const document::Node high = explained(agent, "default/db", "main", "memory-high");
  EXPECT_EQ(at(high, "wanted"), fmt::format("{}", mebibytes(128).count)) << "of the limit in the kernel";
  EXPECT_EQ(at(high, "takesEffect"), "false");
  EXPECT_THAT(at(high, "why"), ::testing::HasSubstr("cgroup v2"));
  EXPECT_EQ(complaints(agent).size(), 1U) << agent.log();
  EXPECT_THAT(complaints(agent).front(), ::testing::HasSubstr("Unsupported"));
  EXPECT_EQ(container.read("memory.soft_limit_in_bytes"), softLimit);
  EXPECT_EQ(metric(agent, R"(memqos_pods{state="managed"})"), 1);
  EXPECT_THAT(watch.touched(), ::testing::IsEmpty());
  EXPECT_THAT(testing::runCommand({testing::binary("memqos-agent"), "probe", "--output", "json"}).out,
              ::testing::ContainsRegex("\"version\": ?1"));
  EXPECT_EQ(agent.signal(15), 0) << agent.log();
}

}  // namespace
}  // namespace memqos::node
