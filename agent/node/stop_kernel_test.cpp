// What the agent promises, seen in the kernel: how it stops, starts again, and puts everything back.
#include <fmt/format.h>

#include <csignal>

#include "node/agent_view.h"

namespace memqos::node {
namespace {

using testing::AgentProcess;
using testing::CommandResult;
using testing::ScopedCgroup;
using testing::waitUntil;

using Annotations = std::vector<std::pair<std::string, std::string>>;

const std::string kSlice = "kubepods.slice/kubepods-burstable.slice";
const Annotations kAsked = {{"memqos.io/memory-min", "32Mi"},
                            {"memqos.io/memory-high", "128Mi"},
                            {"memqos.io/swap-max", "16Mi"},
                            {"memqos.io/oom-group", "true"}};

std::string line(Bytes bytes) {
  return fmt::format("{}\n", bytes.count);
}

// One pod that asks for a little of everything, and what its files are then.
class Stop : public ::testing::Test {
 protected:
  Stop() { container_.write("memory.high", "192M"); }

  bool declareAndWait(AgentProcess& agent) const {
    declare(agent, kAsked);
    return agent.startAndWait() && waitUntil([&] { return state() == kHeld; });
  }
  void declare(const AgentProcess& agent, Annotations annotations) const {
    annotations.emplace_back("cgroup.memqos.io/main", place_.container);
    agent.pod("db", place_.pod, annotations, "{requests: {memory: 64Mi}, limits: {memory: 256Mi}}");
  }

  struct State {
    std::string min, high, swap, oomGroup, podMin, qosMin, topMin;
    bool operator==(const State&) const = default;
    friend void PrintTo(const State& s, std::ostream* out) {
      for (const auto* text : {&s.min, &s.high, &s.swap, &s.oomGroup, &s.podMin, &s.qosMin, &s.topMin}) *out << *text;
    }
  };
  [[nodiscard]] State state() const {
    return {container_.read("memory.min"),
            container_.read("memory.high"),
            container_.read("memory.swap.max"),
            container_.read("memory.oom.group"),
            ScopedCgroup(place_.pod).read("memory.min"),
            ScopedCgroup(kSlice).read("memory.min"),
            ScopedCgroup("kubepods.slice").read("memory.min")};
  }

  const std::string m32_ = line(mebibytes(32));
  const State kHeld{m32_, line(mebibytes(128)), line(mebibytes(16)), "1\n", m32_, m32_, m32_};
  const State kStopped{m32_, line(mebibytes(192)), line(mebibytes(16)), "1\n", m32_, m32_, m32_};
  const State kBefore{"0\n", line(mebibytes(192)), "max\n", "0\n", "0\n", "0\n", "0\n"};
  const Place place_ = systemdPlace("burstable", '1');
  const ScopedCgroup container_{place_.container};
};

TEST_F(Stop, KeepsProtectionAndTheNextStartAdoptsIt) {
  AgentProcess agent;
  ASSERT_TRUE(declareAndWait(agent)) << ::testing::PrintToString(state()) << agent.log();
  EXPECT_EQ(agent.signal(SIGTERM), 0) << agent.log();
  EXPECT_EQ(state(), kStopped);

  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  ASSERT_TRUE(waitUntil([&] { return state() == kHeld; })) << ::testing::PrintToString(state()) << agent.log();
  // What stood there was its own: the baselines are still those from before the first start.
  EXPECT_EQ(agent.signal(SIGINT), 0) << agent.log();
  EXPECT_EQ(state(), kStopped);
  EXPECT_THAT(complaints(agent), ::testing::IsEmpty());

  // Nobody asks any more while it is away: the next start puts it back.
  declare(agent, {});
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return state() == kBefore; })) << ::testing::PrintToString(state()) << agent.log();
}

TEST_F(Stop, RestoresAllWhereTheOperatorWantsThat) {
  AgentProcess agent({"restoreOnExit: always\n", {}});
  ASSERT_TRUE(declareAndWait(agent)) << agent.log();
  EXPECT_EQ(agent.signal(SIGTERM), 0) << agent.log();
  EXPECT_EQ(state(), kBefore) << agent.log();
}

TEST_F(Stop, RestoreAsksTheRunningAgentWhichThenStaysSuspended) {
  AgentProcess agent;
  ASSERT_TRUE(declareAndWait(agent)) << agent.log();
  const CommandResult restored = agent.cli({"restore"});
  EXPECT_EQ(restored.status, 0) << restored.err;
  EXPECT_EQ(state(), kBefore);
  EXPECT_THAT(restored.out, ::testing::HasSubstr(place_.container + "/memory.high"));
  EXPECT_THAT(restored.out, ::testing::HasSubstr(kSlice + "/memory.min"));

  const http::Response ready = get(agent, "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, ::testing::HasSubstr("suspended until the next start"));
  EXPECT_EQ(get(agent, "/healthz").status, 200);
  // A manifest that changes, a container that starts, a foreign write: nothing is answered with a write.
  const double writes = metric(agent, R"(memqos_control_writes_total{file="memory.min",result="written"})");
  declare(agent, {{"memqos.io/memory-min", "48Mi"}});
  const Place other = systemdPlace("burstable", '2');
  const ScopedCgroup otherContainer(other.container);
  agent.pod("other", other.pod, {{"cgroup.memqos.io/main", other.container}, {"memqos.io/memory-min", "16Mi"}},
            "{requests: {memory: 64Mi}}");
  ASSERT_EQ(::kill(agent.pid(), SIGHUP), 0);
  container_.write("memory.min", "1M");
  ASSERT_TRUE(waitUntil([&] { return agent.log().find("configuration read") != std::string::npos; })) << agent.log();
  EXPECT_EQ(agent.cli({"restore"}).status, 0);  // one turn through everything that could be under way
  EXPECT_EQ(container_.read("memory.min"), line(kMiB));
  EXPECT_EQ(otherContainer.read("memory.min"), "0\n");
  EXPECT_EQ(metric(agent, R"(memqos_control_writes_total{file="memory.min",result="written"})"), writes);

  // Until it is started again.
  EXPECT_EQ(agent.signal(SIGTERM), 0);
  ASSERT_TRUE(agent.startAndWait()) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return otherContainer.read("memory.min") == line(mebibytes(16)); })) << agent.log();
  EXPECT_TRUE(waitUntil([&] { return container_.read("memory.min") == line(mebibytes(48)); })) << agent.log();
}

TEST_F(Stop, RestoreWorksWithoutAnAgentToo) {
  AgentProcess agent;
  ASSERT_TRUE(declareAndWait(agent)) << agent.log();
  container_.write("memory.swap.max", "8M");  // somebody else's last word
  ASSERT_TRUE(waitUntil([&] { return state() == kHeld; })) << agent.log();
  EXPECT_EQ(agent.signal(SIGKILL), 128 + SIGKILL);
  const CommandResult restored = agent.cli({"restore"});  // waits for the watchdog
  EXPECT_EQ(restored.status, 0) << restored.err << restored.out;
  State before = kBefore;
  before.swap = line(mebibytes(8));
  EXPECT_EQ(state(), before) << restored.out;
  const CommandResult again = agent.cli({"restore", "--output", "json"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out, "{\n  \"files\": []\n}\n");
}

TEST_F(Stop, ASecondAgentIsRefused) {
  AgentProcess agent;
  ASSERT_TRUE(declareAndWait(agent)) << agent.log();
  const CommandResult second = testing::runCommand(agent.command());
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, ::testing::HasSubstr("another memqos agent runs on this node"));
  EXPECT_TRUE(agent.running());
  EXPECT_EQ(get(agent, "/readyz").status, 200);
  EXPECT_EQ(state(), kHeld);
}

}  // namespace
}  // namespace memqos::node
