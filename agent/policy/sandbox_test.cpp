#include "policy/sandbox.h"

#include <gmock/gmock.h>

#include "policy/testing.h"

namespace memqos::policy {
namespace {

TEST(Sandbox, IsKnownByTheNameOfTheRuntimeClass) {
  const Settings settings;
  const std::map<std::string, bool> cases = {{"", false},      {"kata", true},     {"kata-qemu", true},
                                             {"gvisor", true}, {"runsc", true},    {"nvidia", false},
                                             {"crun", false},  {"my-kata", false}, {"gvisor-net", true}};
  for (const auto& [name, sandboxed] : cases) {
    Pod pod;
    pod.runtimeClass = name;
    EXPECT_EQ(runsInSandbox(pod, settings), sandboxed) << name;
  }
  Settings own;
  own.sandboxedRuntimeClasses = {"firecracker"};
  Pod pod;
  pod.runtimeClass = "firecracker";
  EXPECT_TRUE(runsInSandbox(pod, own));
  pod.runtimeClass = "firecracker2";
  EXPECT_FALSE(runsInSandbox(pod, own));
}

class SandboxedPod : public ::testing::Test {
 protected:
  SandboxedPod() {
    pod_.name = "vm";
    pod_.runtimeClass = "kata";
    for (const char* name : {"a", "b"})
      pod_.containers.push_back({name, ContainerKind::regular, mebibytes(128), mebibytes(512)});
  }
  PodPlan plan() const { return policy::plan(pod_, {}, NodeFacts{mebibytes(8192)}, Settings{}); }
  static std::optional<Limit> sum(const PodPlan& plan, Knob knob) {
    std::vector<const ContainerPlan*> containers;
    for (const ContainerPlan& container : plan.containers) containers.push_back(&container);
    return sandboxValue(containers, knob);
  }

  Pod pod_;
};

TEST_F(SandboxedPod, ItsEnginesAreOffAndSaidSo) {
  pod_.annotations = {{"memqos.io/reclaim", "watermark", {}}, {"memqos.io/memory-min", "64Mi", {}}};
  const PodPlan plan = this->plan();
  EXPECT_TRUE(plan.sandboxed);
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_EQ(plan.findings[0].reason, Reason::unsupported);
  EXPECT_EQ(plan.findings[0].key, "memqos.io/reclaim");
  EXPECT_THAT(plan.findings[0].problem, ::testing::HasSubstr("RuntimeClass 'kata'"));
  EXPECT_EQ(plan.containers[0].at(Knob::reclaim).wanted, std::nullopt);
  EXPECT_THAT(plan.containers[0].at(Knob::reclaim).why, ::testing::HasSubstr("sandbox"));
  EXPECT_EQ(plan.containers[0].wantedLimit(Knob::memoryMin), Limit(mebibytes(64)));
  EXPECT_FALSE(plan.empty());
  pod_.runtimeClass = "nvidia";
  EXPECT_FALSE(this->plan().sandboxed);
  EXPECT_TRUE(this->plan().findings.empty());
}

TEST_F(SandboxedPod, OnlyEnginesAskForNothing) {
  pod_.annotations = {{"memqos.io/reclaim", "watermark", {}}};
  EXPECT_TRUE(plan().empty());
}

TEST_F(SandboxedPod, GetsTheSumOfItsContainers) {
  pod_.annotations = {{"memqos.io/memory-low", "50%", {}},
                      {"memory-min.memqos.io/a", "32Mi", {}},
                      {"memqos.io/memory-high", "75%", {}},
                      {"swap-max.memqos.io/a", "16Mi", {}},
                      {"oom-group.memqos.io/b", "true", {}}};
  pod_.containers.push_back({"setup", ContainerKind::init, mebibytes(100), mebibytes(512)});
  const PodPlan plan = this->plan();
  EXPECT_EQ(sum(plan, Knob::memoryLow), Limit(mebibytes(128)));
  EXPECT_EQ(sum(plan, Knob::memoryMin), Limit(mebibytes(32)));
  EXPECT_EQ(sum(plan, Knob::memoryHigh), Limit(mebibytes(768)));
  EXPECT_EQ(sum(plan, Knob::swapMax), std::nullopt) << "b may swap as it likes";
  EXPECT_EQ(sum(plan, Knob::oomGroup), Limit(Bytes{1}));
  EXPECT_EQ(sum(plan, Knob::zswapMax), std::nullopt);
}

}  // namespace
}  // namespace memqos::policy
