// What the agent promises, seen in the kernel: memory.high throttles nobody by our own write, and who is throttled all
// the same is rescued.
#include <fmt/format.h>

#include <sstream>

#include "cgroup/stat.h"
#include "node/agent_view.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using namespace std::chrono_literals;
using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;
using testing::Workload;

const char* const kResources = "{requests: {memory: 64Mi}, limits: {memory: 1Gi}}";
constexpr auto kLong = 240s;  // an emulated machine under load

// What the container has felt so far.
struct Felt {
  std::uint64_t high = 0;             // memory.events.local: its tasks went over memory.high
  std::chrono::microseconds full{0};  // memory.pressure: all of them stalled
};

Felt felt(const ScopedCgroup& cgroup) {
  Felt out;
  const auto events = cgroup::parseFlatKeyed(cgroup.read("memory.events.local"));
  if (events) out.high = static_cast<std::uint64_t>(events->get("high"));
  const auto pressure = cgroup::parsePressure(cgroup.read("memory.pressure"));
  if (pressure) out.full = pressure->full;
  EXPECT_TRUE(events && pressure);
  return out;
}

void expectUnthrottled(const Felt& before, const Felt& after) {
  EXPECT_EQ(after.high, before.high);
  EXPECT_LT(after.full - before.full, 10ms);
}

Limit highOf(const ScopedCgroup& cgroup) {
  return parseLimit(cgroup.read("memory.high")).value();
}

// "from>to" of each of the agent's writes to memory.high of that cgroup, in order.
std::vector<std::string> highWrites(const AgentProcess& agent, const std::string& cgroup) {
  std::vector<std::string> out;
  std::istringstream log(agent.log());
  const auto field = [](const std::string& line, const std::string& key) {
    const auto begin = line.find(" " + key + "=");
    if (begin == std::string::npos) return std::string();
    const auto value = begin + key.size() + 2;
    return line.substr(value, line.find(' ', value) - value);
  };
  for (std::string line; std::getline(log, line);) {
    if (field(line, "file") != "memory.high" || field(line, "cgroup") != cgroup || field(line, "from").empty())
      continue;
    out.push_back(field(line, "from") + ">" + field(line, "to"));
  }
  return out;
}

int count(const std::string& text, std::string_view word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++found;
  return found;
}

// A pod with one container that, as under the kubelet's default, may not swap.
class High : public ::testing::Test {
 protected:
  High() { container_.write("memory.swap.max", "0"); }
  void annotate(const std::vector<std::pair<std::string, std::string>>& annotations) const {
    auto all = annotations;
    all.emplace_back("cgroup.memqos.io/main", place_.container);
    agent_.pod("db", place_.pod, all, kResources);
  }

  // A write is in the file before it is in the log.
  void expectHighWrites(const std::vector<std::string>& expected) const {
    waitUntil([&] { return highWrites(agent_, place_.container).size() >= expected.size(); });
    EXPECT_EQ(highWrites(agent_, place_.container), expected) << agent_.log();
  }

  const Place place_ = systemdPlace("burstable", '6');
  const ScopedCgroup container_{place_.container};
  AgentProcess agent_;
};

TEST_F(High, LoweringAndRaisingItUnderALivingContainerThrottlesNobody) {
  Workload cache = Workload::streamHoles(container_, mebibytes(160), 1);
  Workload hot = Workload::hot(container_, mebibytes(16));
  ASSERT_TRUE(cache.waitReady() && hot.waitReady());
  annotate({});
  ASSERT_TRUE(agent_.startAndWait()) << agent_.log();
  const Bytes usage = container_.current();
  ASSERT_GE(usage, mebibytes(160));
  const Felt before = felt(container_);

  annotate({{"memqos.io/memory-high", "96Mi"}});
  ASSERT_TRUE(waitUntil([&] { return highOf(container_) == Limit(mebibytes(96)); }, kLong)) << agent_.log();
  // The cache was taken first, and the limit written once there was room below it.
  EXPECT_LE(container_.current() + mebibytes(8), mebibytes(96));
  expectHighWrites({"max>100663296"});
  EXPECT_GE(container_.stat("anon"), mebibytes(16).count) << "memory in use was left alone";
  expectUnthrottled(before, felt(container_));

  annotate({{"memqos.io/memory-high", "128Mi"}});
  ASSERT_TRUE(waitUntil([&] { return highOf(container_) == Limit(mebibytes(128)); })) << agent_.log();
  annotate({});
  ASSERT_TRUE(waitUntil([&] { return highOf(container_).isMax(); })) << agent_.log();
  expectHighWrites({"max>100663296", "100663296>134217728", "134217728>max"});
  expectUnthrottled(before, felt(container_));
  EXPECT_TRUE(hot.running());
}

TEST_F(High, WhatCannotBeReclaimedKeepsItsRoom) {
  Workload first = Workload::anonymous(container_, mebibytes(64));
  Workload second = Workload::anonymous(container_, mebibytes(64));
  ASSERT_TRUE(first.waitReady() && second.waitReady());
  annotate({});
  ASSERT_TRUE(agent_.startAndWait()) << agent_.log();
  const Felt before = felt(container_);

  annotate({{"memqos.io/memory-high", "96Mi"}});
  ASSERT_TRUE(waitUntil([&] { return count(agent_.log(), "HighNotReached") > 0; }, kLong)) << agent_.log();
  ASSERT_TRUE(waitUntil([&] { return !highOf(container_).isMax(); })) << agent_.log();
  const Bytes usage = container_.current();
  EXPECT_GE(highOf(container_).bytes(), usage + mebibytes(8)) << usage.count;
  EXPECT_LE(highOf(container_).bytes(), usage + mebibytes(12)) << usage.count;
  EXPECT_NE(at(explained(agent_, "default/db", "main", "memory-high"), "why").find("usage leaves no room"),
            std::string::npos);
  expectUnthrottled(before, felt(container_));

  // It is looked at again, without more noise.
  second.stop();
  ASSERT_TRUE(waitUntil([&] { return highOf(container_) == Limit(mebibytes(96)); }, kLong)) << agent_.log();
  EXPECT_EQ(count(agent_.log(), "HighNotReached"), 1);
  expectUnthrottled(before, felt(container_));
  EXPECT_TRUE(first.running());
}

TEST_F(High, WhoAllocatesAgainstItIsRescued) {
  // A neighbour with the same fate, but by a memory.high that is somebody else's.
  const Place foreign = systemdPlace("burstable", '7');
  const ScopedCgroup neighbour(foreign.container);
  neighbour.write("memory.swap.max", "0");
  neighbour.write("memory.high", "83886080");
  agent_.pod("foreign", foreign.pod, {{"cgroup.memqos.io/main", foreign.container}, {"memqos.io/memory-min", "16Mi"}},
             kResources);
  annotate({{"memqos.io/memory-high", "16Mi"}});
  ASSERT_TRUE(agent_.startAndWait()) << agent_.log();
  // The guardrail smallestHigh.
  ASSERT_TRUE(waitUntil([&] { return highOf(container_) == Limit(mebibytes(64)); })) << agent_.log();
  EXPECT_EQ(count(agent_.log(), "AdjustedValue"), 1) << agent_.log();

  constexpr Bytes kMost = mebibytes(256);
  Workload theirs = Workload::allocate(neighbour, kMiB, kMost, 10ms);
  Workload ours = Workload::allocate(container_, kMiB, kMost, 10ms);
  // By the kernel alone, 192 MiB over memory.high at up to 2 s for 64 pages would take more than 20 minutes.
  ASSERT_TRUE(waitUntil([&] { return container_.current() >= kMost; }, kLong))
      << container_.current().count << agent_.log();
  EXPECT_GT(felt(container_).high, 0U) << "it was throttled at first";
  const auto writes = highWrites(agent_, place_.container);
  ASSERT_GE(writes.size(), 2U) << agent_.log();
  EXPECT_EQ(writes[0], "max>67108864");
  EXPECT_EQ(writes[1], "67108864>134217728");
  EXPECT_GE(highOf(container_), Limit(mebibytes(256)));
  EXPECT_GE(count(agent_.log(), "ThrottleEscape"), 2);
  const auto escapes = [&](const char* pod) {
    return metric(
        agent_, fmt::format(R"(memqos_throttle_escapes_total{{namespace="default",pod="{}",container="main"}})", pod));
  };
  // The snapshot behind the page may be a second old.
  EXPECT_TRUE(waitUntil([&] { return escapes("db") >= 1; })) << get(agent_, "/metrics").body;

  EXPECT_GT(felt(neighbour).high, 0U);
  EXPECT_EQ(neighbour.read("memory.high"), "83886080\n");
  EXPECT_LT(neighbour.current(), kMost);
  EXPECT_LT(escapes("foreign"), 1);
  EXPECT_TRUE(highWrites(agent_, foreign.container).empty()) << agent_.log();
  EXPECT_TRUE(ours.running() && theirs.running());
}

}  // namespace
}  // namespace memqos::node
