#include "control/merge.h"

namespace memqos::control {
namespace {

using cgroup::File;
using policy::Knob;

class MergeTest : public ::testing::Test {
 protected:
  cgroup::Handle at(const std::string& path) {
    auto& handle = handles_[path];
    if (!handle) handle = std::make_shared<cgroup::Cgroup>(path, Fd(), handles_.size());
    return handle;
  }
  static policy::ContainerPlan plan(const std::string& name, std::map<Knob, policy::KnobValue> values) {
    policy::ContainerPlan out;
    out.name = name;
    for (auto& [knob, value] : values) out.at(knob).wanted = value;
    return out;
  }
  std::map<std::string, Target> targets() {
    std::map<std::string, Target> out;
    for (const Target& target : merge(input_)) out[target.cgroup->path() + " " + cgroup::name(target.file)] = target;
    return out;
  }
  std::map<std::string, Limit> merged() {
    std::map<std::string, Limit> out;
    for (const Target& target : merge(input_))
      out[target.cgroup->path() + " " + cgroup::name(target.file)] = target.value;
    return out;
  }
  MergeInput input_{{}, {}, true, false, kGiB, *parsePercent("50%"), *parsePercent("80%")};
  std::map<std::string, cgroup::Handle> handles_;
};

TEST_F(MergeTest, OnlyWhatIsAskedForIsATarget) {
  input_.pods = {
      {at("kubepods/pod"),
       true,
       {{plan("c", {{Knob::oomGroup, false}, {Knob::swapMax, Limit::max()}, {Knob::reclaim, std::string("auto")}}),
         at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  const std::map<std::string, Limit> expected = {{"kubepods/pod/c memory.oom.group", Limit(Bytes{0})},
                                                 {"kubepods/pod/c memory.swap.max", Limit::max()}};
  EXPECT_EQ(merged(), expected);
}

TEST_F(MergeTest, ProtectionReachesTheRootOfThePods) {
  input_.pods = {
      {at("kubepods/pod"), true, {{plan("c", {{Knob::memoryMin, Limit(mebibytes(8))}}), at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  const auto out = merged();
  EXPECT_EQ(out.at("kubepods/pod/c memory.min"), Limit(mebibytes(8)));
  EXPECT_EQ(out.count("kubepods/pod/c memory.low"), 0U);
  EXPECT_EQ(out.at("kubepods/pod memory.min"), Limit(mebibytes(8)));
  EXPECT_EQ(out.at("kubepods memory.min"), Limit(mebibytes(8)));
}

TEST_F(MergeTest, APodInASandboxGetsTheSumOfItsContainers) {
  MergePod pod{
      at("kubepods/pod"),
      true,
      {{plan("a", {{Knob::memoryMin, Limit(mebibytes(8))}, {Knob::memoryHigh, Limit(mebibytes(100))}}), nullptr},
       {plan("b", {{Knob::memoryHigh, Limit(mebibytes(120))}, {Knob::oomGroup, true}}), nullptr}}};
  pod.sandboxed = true;
  input_.pods = {pod};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  const std::map<std::string, Limit> expected = {
      {"kubepods/pod memory.min", Limit(mebibytes(8))},    {"kubepods/pod memory.low", Limit()},
      {"kubepods/pod memory.high", Limit(mebibytes(220))}, {"kubepods/pod memory.oom.group", Limit(Bytes{1})},
      {"kubepods memory.min", Limit(mebibytes(8))},        {"kubepods memory.low", Limit()}};
  EXPECT_EQ(merged(), expected);
  input_.pods[0].limit = Limit(mebibytes(220));
  EXPECT_EQ(merged().count("kubepods/pod memory.high"), 0U) << "that is the limit";
}

TEST_F(MergeTest, ObserveWritesNothingAboveThePod) {
  input_.holdAncestors = false;
  input_.pods = {
      {at("kubepods/pod"), true, {{plan("c", {{Knob::memoryMin, Limit(mebibytes(8))}}), at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  EXPECT_EQ(merged().count("kubepods memory.min"), 0U);
  EXPECT_EQ(merged().at("kubepods/pod memory.min"), Limit(mebibytes(8)));
}

// koordinator#895: a pod cgroup outside kubepods is served, what stands above it is not touched.
TEST_F(MergeTest, OutsideKubepodsAncestorsAreNeverWritten) {
  input_.pods = {{at("system.slice/pod"),
                  false,
                  {{plan("c", {{Knob::memoryMin, Limit(mebibytes(8))}}), at("system.slice/pod/c")}}}};
  input_.ancestors = {{at("system.slice"), {}, {}}};
  EXPECT_EQ(merged().count("system.slice memory.min"), 0U);
  EXPECT_EQ(merged().at("system.slice/pod memory.min"), Limit(mebibytes(8)));
}

// kubernetes#138760: the sum follows the spec, not which container happens to run.
TEST_F(MergeTest, AContainerBetweenRestartsCountsAFinishedInitContainerDoesNot) {
  auto init = plan("init", {{Knob::memoryMin, Limit(mebibytes(64))}});
  init.kind = policy::ContainerKind::init;
  input_.pods = {
      {at("kubepods/pod"), true, {{plan("c", {{Knob::memoryMin, Limit(mebibytes(8))}}), nullptr}, {init, nullptr}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  EXPECT_EQ(merged().at("kubepods/pod memory.min"), Limit(mebibytes(8)));
}

TEST_F(MergeTest, ZeroIsAValue) {
  input_.pods = {{at("kubepods/pod"), true, {{plan("c", {{Knob::memoryMin, Limit(Bytes{0})}}), at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  const std::map<std::string, Limit> expected = {{"kubepods/pod/c memory.min", Limit(Bytes{0})},
                                                 {"kubepods/pod memory.min", Limit(Bytes{0})},
                                                 {"kubepods/pod memory.low", Limit(Bytes{0})}};
  EXPECT_EQ(merged(), expected);
}

TEST_F(MergeTest, AHeldLowIsMinTooAndTheWatchdogKnowsThePlainValues) {
  input_.holdLow = true;
  input_.pods = {{at("kubepods/pod"),
                  true,
                  {{plan("c", {{Knob::memoryLow, Limit(mebibytes(96))}, {Knob::memoryMin, Limit(mebibytes(32))}}),
                    at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  for (const char* path : {"kubepods/pod/c", "kubepods/pod", "kubepods"}) {
    const auto all = targets();
    const Target& min = all.at(std::string(path) + " memory.min");
    EXPECT_EQ(min.value, Limit(mebibytes(96))) << path;
    EXPECT_TRUE(min.held) << path;
    EXPECT_EQ(min.plain, Limit(mebibytes(32))) << path;
    EXPECT_FALSE(all.at(std::string(path) + " memory.low").held) << path;
    EXPECT_EQ(all.at(std::string(path) + " memory.low").value, Limit(mebibytes(96))) << path;
  }
}

TEST_F(MergeTest, WithoutMemoryMinTheBaselineIsThePlainValue) {
  input_.holdLow = true;
  input_.pods = {
      {at("kubepods/pod"), true, {{plan("c", {{Knob::memoryLow, Limit(mebibytes(96))}}), at("kubepods/pod/c")}}}};
  const Target min = targets().at("kubepods/pod/c memory.min");
  EXPECT_TRUE(min.held);
  EXPECT_EQ(min.plain, std::nullopt);
}

TEST_F(MergeTest, AnOpenValveLetsGoOfOnePodOnly) {
  input_.holdLow = true;
  MergePod first{
      at("kubepods/pod"), true, {{plan("c", {{Knob::memoryLow, Limit(mebibytes(96))}}), at("kubepods/pod/c")}}};
  MergePod second{
      at("kubepods/pod2"), true, {{plan("c", {{Knob::memoryLow, Limit(mebibytes(16))}}), at("kubepods/pod2/c")}}};
  first.valveOpen = true;
  input_.pods = {first, second};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  const auto out = merged();
  EXPECT_EQ(out.count("kubepods/pod/c memory.min"), 0U);
  EXPECT_EQ(out.at("kubepods/pod memory.min"), Limit(Bytes{0}));
  EXPECT_EQ(out.at("kubepods/pod2/c memory.min"), Limit(mebibytes(16)));
  EXPECT_EQ(out.at("kubepods memory.min"), Limit(mebibytes(16)));
  EXPECT_EQ(out.at("kubepods memory.low"), Limit(mebibytes(112)));
}

// kubernetes#126485: a min at the limit leaves clean cache unreclaimable, also where it is a held low.
TEST_F(MergeTest, AHeldLowLeavesRoomBelowTheLimits) {
  input_.holdLow = true;
  auto first = plan("a", {{Knob::memoryLow, Limit(mebibytes(128))}});
  first.limit = Limit(mebibytes(128));
  auto second = plan("b", {{Knob::memoryLow, Limit(mebibytes(64))}});
  second.limit = Limit(mebibytes(192));
  input_.pods = {{at("kubepods/pod"), true, {{first, at("kubepods/pod/a")}, {second, at("kubepods/pod/b")}}}};
  EXPECT_EQ(merged().at("kubepods/pod/a memory.min"), Limit(mebibytes(96)));
  EXPECT_EQ(merged().at("kubepods/pod/b memory.min"), Limit(mebibytes(64)));
  input_.pods[0].limit = Limit(mebibytes(112));  // 80 MiB may be held: 96 + 64 are scaled by one half
  EXPECT_EQ(merged().at("kubepods/pod/a memory.min"), Limit(mebibytes(48)));
  EXPECT_EQ(merged().at("kubepods/pod/b memory.min"), Limit(mebibytes(32)));
}

TEST_F(MergeTest, AncestorsHoldWithinTheShareOfMin) {
  input_.holdLow = true;
  input_.pods = {
      {at("kubepods/pod"), true, {{plan("c", {{Knob::memoryLow, Limit(mebibytes(700))}}), at("kubepods/pod/c")}}}};
  input_.ancestors = {{at("kubepods"), {}, {}}};
  EXPECT_EQ(merged().at("kubepods memory.min"), Limit(mebibytes(512)));
  EXPECT_EQ(merged().at("kubepods memory.low"), Limit(mebibytes(700)));
}

}  // namespace
}  // namespace memqos::control
