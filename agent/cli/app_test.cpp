#include "cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "cli/agent.h"
#include "cli/harness.h"

namespace memqos::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using App = Program;

TEST_F(App, VersionAndHelpGoToStdout) {
  const Ran version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("memqos-agent "));
  EXPECT_EQ(version.err, "");
  const Ran help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"run", "probe", "check", "explain", "top", "move", "restore"})
    EXPECT_THAT(help.out, HasSubstr(word));
  EXPECT_THAT(run({"explain", "--help"}).out, HasSubstr("--allocatable"));
}

TEST_F(App, WrongFlagsAreTheUsersAndOnStderr) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"frobnicate"},
                                                       {"check"},
                                                       {"check", "a.yaml", "--no-such"},
                                                       {"probe", "--output", "xml"},
                                                       {"explain"},
                                                       {"run", "--pods", "/x", "--log-level", "loud"},
                                                       {"top", "extra"},
                                                       {"check", "--config"}};
  for (const auto& arguments : wrong) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 1) << testing::PrintToString(arguments);
    EXPECT_EQ(ran.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(ran.err, "") << testing::PrintToString(arguments);
  }
}

TEST_F(App, RunTakesPodsFromAClusterOrAFolder) {
  std::vector<std::string> seen;
  world_.run = [&](const RunFlags& flags) {
    seen.push_back(flags.kubeconfig + ":" + flags.pods);
    return 0;
  };
  EXPECT_EQ(run({"run"}).status, 0);
  EXPECT_EQ(run({"run", "--kubeconfig", "/etc/kubeconfig"}).status, 0);
  EXPECT_THAT(seen, ::testing::ElementsAre(":", "/etc/kubeconfig:"));
  const Ran both = run({"run", "--kubeconfig", "/etc/kubeconfig", "--pods", "/pods"});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.err, HasSubstr("not both"));
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(App, RunPassesItsFlagsAndItsStatus) {
  std::optional<RunFlags> seen;
  world_.run = [&](const RunFlags& flags) {
    seen = flags;
    return 2;
  };
  EXPECT_EQ(run({"run", "--pods", "/pods"}).status, 2);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->pods, "/pods");
  EXPECT_EQ(seen->runDir, "/run/memqos");
  EXPECT_FALSE(seen->listen);
  EXPECT_FALSE(seen->config);
  run({"run", "--pods", "/pods", "--run-dir", "/r", "--config", "/c", "--listen", "[::1]:9", "--node-name", "n1"});
  EXPECT_EQ(seen->runDir, "/r");
  EXPECT_EQ(seen->config, "/c");
  EXPECT_EQ(seen->listen, "[::1]:9");
  EXPECT_EQ(seen->nodeName, "n1");
}

TEST_F(App, MoveIsHonest) {
  const Ran ran = run({"move", "--from", "a", "--to", "b"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("not available"));
  const Ran json = run({"move", "-o", "json"});
  EXPECT_EQ(json.status, 2);
  EXPECT_EQ(document::dumpJson(json.json()), R"({"moves":[]})");
}

TEST_F(App, Probe) {
  const Ran lacking = run({"probe"});
  EXPECT_EQ(lacking.status, 2);
  EXPECT_THAT(lacking.err, HasSubstr("no cgroup hierarchy"));
  world_.probe = []() -> Result<report::Probe> {
    report::Probe probe;
    probe.kernel = "6.12.0";
    probe.root = "/sys/fs/cgroup";
    probe.features.push_back(
        {.name = "psi", .available = true, .evidence = "memory.pressure", .neededBy = {}, .known = true});
    return probe;
  };
  const Ran table = run({"probe"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("psi"));
  EXPECT_EQ(run({"probe", "--output", "json"}).json().find("kernel")->scalar, "6.12.0");
  EXPECT_THAT(run({"probe", "--output", "yaml"}).out, HasSubstr("kernel: "));
}

TEST(PercentEncoding, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(percentEncoded("shop/web-0.x_~"), "shop%2Fweb-0.x_~");
  EXPECT_EQ(percentEncoded("a b&c=\xff"), "a%20b%26c%3D%FF");
}

}  // namespace
}  // namespace memqos::cli
