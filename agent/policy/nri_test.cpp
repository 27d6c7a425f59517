#include "policy/dialects.h"
#include "policy/testing.h"

namespace memqos::policy {
namespace {

Settings on() {
  Settings settings;
  settings.dialects.nri = true;
  return settings;
}

PodPlan planFor(const Annotated& annotations) {
  return planOf(podOf({container("app", "1Gi", "2Gi"), container("c1", "1Gi", "2Gi")}, annotations), {}, on());
}

TEST(KernelBytes, AreWhatTheKernelTakes) {
  const std::vector<std::pair<std::string, std::int64_t>> rows = {
      {"0", 0},
      {"4096", 4096},
      {"64M", 64LL << 20},  // a Kubernetes quantity would be 64,000,000
      {"64m", 64LL << 20},
      {"8k", 8192},
      {"1G", 1LL << 30},
      {"1T", 1LL << 40},
      {"1P", 1LL << 50},
      {"7E", 7LL << 60},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
  };
  for (const auto& [text, bytes] : rows) {
    const auto limit = parseKernelBytes(text);
    ASSERT_TRUE(limit) << text;
    EXPECT_EQ(limit->bytes().count, bytes) << text;
    EXPECT_FALSE(limit->isMax());
  }
  EXPECT_TRUE(parseKernelBytes("max")->isMax());
}

// kube-ovn#138: a bad number in an annotation crashed the agent, or did nothing and nobody knew.
TEST(KernelBytes, OthersAreRefusedWithAdvice) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"1e3", "write bytes, a number with"},
      {" 50", "write bytes"},
      {"50%", "write bytes"},
      {"-1", "write bytes"},
      {"999999999999999999999", "write max"},
      {"9223372036854775808", "write max"},
      {"8E", "write max"},
      {"99999999999E", "write max"},
      {"", "write bytes"},
      {"M", "write bytes"},
      {"Mi", "write bytes"},
      {"64Mi", "write 64M, which are powers of 1024"},
      {"64MB", "write bytes"},
      {"0x1000", "write bytes"},
      {"010000", "write it without the leading 0"},
      {"Max", "write bytes"},
      {"auto", "write bytes"},
      {"1", "write a unit (64M), or 0"},
      {"1.5G", "write bytes"},
      {std::string("64M\0", 4), "write bytes"},
      {std::string(300'000, '9'), "write max"},
      {"\xff\xfe", "write bytes"},
  };
  for (const auto& [text, advice] : rows) {
    const auto limit = parseKernelBytes(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_EQ(limit.error().advice.substr(0, advice.size()), advice) << text.substr(0, 30);
    EXPECT_LT(limit.error().problem.size(), 200U);
  }
}

TEST(Nri, EveryFileBecomesItsKnob) {
  const PodPlan plan = planFor({{"memory.min.memory-qos.nri.io", "64M"},
                                {"memory.low.memory-qos.nri.io", "128M"},
                                {"memory.high.memory-qos.nri.io", "1G"},
                                {"memory.swap.max.memory-qos.nri.io", "max"},
                                {"memory.swap.high.memory-qos.nri.io", "256M"},
                                {"memory.zswap.max.memory-qos.nri.io", "0"},
                                {"memory.zswap.writeback.memory-qos.nri.io", "0"},
                                {"memory.oom.group.memory-qos.nri.io", "1"}});
  EXPECT_TRUE(plan.findings.empty());
  for (const std::size_t container : {0U, 1U}) {
    EXPECT_EQ(wanted(plan, Knob::memoryMin, container), text("64Mi"));
    EXPECT_EQ(wanted(plan, Knob::memoryLow, container), text("128Mi"));
    EXPECT_EQ(wanted(plan, Knob::memoryHigh, container), text("1Gi"));
    EXPECT_EQ(wanted(plan, Knob::swapMax, container), "max");
    EXPECT_EQ(wanted(plan, Knob::swapHigh, container), text("256Mi"));
    EXPECT_EQ(wanted(plan, Knob::zswapMax, container), "0");
    EXPECT_EQ(wanted(plan, Knob::zswapWriteback, container), "false");
    EXPECT_EQ(wanted(plan, Knob::oomGroup, container), "true");
  }
}

TEST(Nri, AContainersKeyIsForThatContainer) {
  const PodPlan plan = planFor({{"memory.high.memory-qos.nri.io/c1", "1G"},
                                {"memory.high.memory-qos.nri.io", "512M"},
                                {"memory.low.memory-qos.nri.io/c2", "64M"}});
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 0), text("512Mi"));
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 1), text("1Gi"));
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"InvalidAnnotation memory.low.memory-qos.nri.io/c2"});
  EXPECT_EQ(plan.findings[0].problem, "the pod has no container 'c2'");
  EXPECT_EQ(plan.findings[0].advice, "use one of app, c1");
}

TEST(Nri, OurRulesApply) {
  const PodPlan plan =
      planFor({{"memory.min.memory-qos.nri.io/app", "max"}, {"memory.high.memory-qos.nri.io/c1", "4M"}});
  EXPECT_EQ(wanted(plan, Knob::memoryMin, 0), text("1Gi")) << "never more than the request";
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 1), text("64Mi")) << "the smallest that does not stall";
  EXPECT_EQ(summaries(plan), (std::vector<std::string>{"AdjustedValue memory.min.memory-qos.nri.io/app app",
                                                       "AdjustedValue memory.high.memory-qos.nri.io/c1 c1"}));
}

// nri-plugins, cmd/plugins/memory-qos: without a configuration any raw annotation dereferences a null pointer there.
TEST(Nri, NoConfigurationIsNeeded) {
  const PodPlan plan = planFor({{"memory.high.memory-qos.nri.io", "1"}});
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"InvalidAnnotation memory.high.memory-qos.nri.io"});
  EXPECT_EQ(plan.findings[0].problem, "'1' is less than a page");
  EXPECT_TRUE(plan.empty());
}

// nri-plugins, cmd/plugins/memory-qos: the documentation drops a class with "", the code says "class not found" and
// keeps the container from starting.
TEST(Nri, AnEmptyClassIsNoClass) {
  const PodPlan plan = planFor({{"class.memory-qos.nri.io/c1", ""}, {"memory.high.memory-qos.nri.io/c1", "1G"}});
  EXPECT_TRUE(plan.findings.empty());
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 1), text("1Gi"));
}

TEST(Nri, ClassesAndOtherFilesAreRefusedWithAReason) {
  const PodPlan plan = planFor({{"class.memory-qos.nri.io", "swap"},
                                {"memory.max.memory-qos.nri.io", "1G"},
                                {"memory-high.memory-qos.nri.io", "1G"},
                                {"cpu.max.memory-qos.nri.io/app", "max"},
                                {"memory.oom.group.memory-qos.nri.io", "true"},
                                {"memory.low.memory-qos.nri.io", "64M"}});
  ASSERT_EQ(plan.findings.size(), 5U);
  EXPECT_EQ(plan.findings[0].problem,
            "classes of that plugin stand in its own configuration, which memqos does not have");
  EXPECT_EQ(plan.findings[0].advice, "write memqos.io/class, or the values themselves");
  EXPECT_EQ(plan.findings[1].problem, "memory.max is the kubelet's, from the container's memory limit");
  EXPECT_EQ(plan.findings[2].problem, "memqos takes no value for 'memory-high'");
  EXPECT_EQ(plan.findings[2].advice, "did you mean memory.high?");
  EXPECT_EQ(plan.findings[3].container, "app");
  EXPECT_EQ(plan.findings[3].advice.substr(0, 10), "use one of");
  EXPECT_EQ(plan.findings[4].advice, "write 0 or 1");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi")) << "the others work";
}

TEST(Nri, OnlyItsOwnDomainCounts) {
  const PodPlan plan = planFor({{"memory-qos.nri.io", "1G"},
                                {".memory-qos.nri.io", "1G"},
                                {"memory.high.memory-qos.nri.io.example.com", "1G"},
                                {"memory.high.memtierd.nri.io", "1G"},
                                {"allowswap.memtierd.nri.io/app", "true"}});
  EXPECT_TRUE(plan.findings.empty());
  EXPECT_TRUE(plan.empty());
}

}  // namespace
}  // namespace memqos::policy
