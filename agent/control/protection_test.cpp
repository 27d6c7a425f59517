#include "control/protection.h"

namespace memqos::control {
namespace {

const std::string kRoot = "kubepods.slice";
const std::string kBurstable = "kubepods.slice/kubepods-burstable.slice";
const std::string kPod = kBurstable + "/kubepods-burstable-podA.slice";
const std::string kGuaranteedPod = kRoot + "/kubepods-podG.slice";

Protection mib(std::int64_t min, std::int64_t low) {
  return {mebibytes(min), mebibytes(low)};
}

ProtectionInput input() {
  ProtectionInput in;
  in.allocatable = mebibytes(1000);
  in.shareMin = *parsePercent("50%");
  in.shareLow = *parsePercent("80%");
  in.ancestors = {{kRoot, {}, {}}, {kBurstable, {}, {}}};
  return in;
}

TEST(HoldProtection, SumsUpToTheRootOfThePods) {
  ProtectionInput in = input();
  in.pods = {{kPod, {{kPod + "/a", mib(32, 64)}, {kPod + "/b", mib(16, 16)}}, {}},
             {kGuaranteedPod, {{kGuaranteedPod + "/c", mib(8, 0)}}, {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.at(kPod), mib(48, 80));
  EXPECT_EQ(held.at(kBurstable), mib(48, 80));
  EXPECT_EQ(held.at(kGuaranteedPod), mib(8, 0));
  EXPECT_EQ(held.at(kRoot), mib(56, 80));
}

TEST(HoldProtection, KubeletsValueIsNeverLowered) {
  ProtectionInput in = input();
  in.pods = {{kPod, {{kPod + "/a", mib(32, 32)}}, {}}};
  in.ancestors = {{kRoot, mib(10, 500), {}}, {kBurstable, mib(0, 100), {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.at(kBurstable), mib(32, 100));
  EXPECT_EQ(held.at(kRoot), mib(32, 500));
}

TEST(HoldProtection, ShareOfAllocatableCapsAncestorsOnly) {
  ProtectionInput in = input();
  in.pods = {{kPod, {{kPod + "/a", mib(700, 900)}}, {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.at(kPod), mib(700, 900));
  EXPECT_EQ(held.at(kBurstable), mib(500, 800));
  EXPECT_EQ(held.at(kRoot), mib(500, 800));
}

TEST(HoldProtection, ASliceWithoutProtectedPodsCountsWithWhatItHolds) {
  ProtectionInput in = input();
  in.pods = {{kGuaranteedPod, {{kGuaranteedPod + "/c", mib(8, 0)}}, {}}};
  in.ancestors = {{kRoot, {}, {}}, {kBurstable, mib(0, 100), {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.count(kBurstable), 0U);
  EXPECT_EQ(held.at(kRoot), mib(8, 100));
}

TEST(HoldProtection, ContainersBetweenRestartsCount) {
  ProtectionInput in = input();
  in.pods = {{kPod, {}, {{"a", mib(32, 0)}}}};
  EXPECT_EQ(holdProtection(in).at(kPod), mib(32, 0));
  EXPECT_EQ(holdProtection(in).at(kRoot), mib(32, 0));
}

TEST(HoldProtection, NothingWantedHoldsNoAncestor) {
  ProtectionInput in = input();
  in.pods = {{kPod, {{kPod + "/a", {}}}, {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.at(kPod), Protection{});
  EXPECT_EQ(held.size(), 1U);
}

TEST(HoldProtection, OutsideChildrenCountAboveThePods) {
  ProtectionInput in = input();
  in.pods = {
      {"kubelet.slice/kubelet-kubepods.slice/p", {{"kubelet.slice/kubelet-kubepods.slice/p/c", mib(16, 0)}}, {}}};
  in.ancestors = {{"kubelet.slice", {}, mib(4, 0)}, {"kubelet.slice/kubelet-kubepods.slice", {}, {}}};
  EXPECT_EQ(holdProtection(in).at("kubelet.slice"), mib(20, 0));
}

TEST(HoldProtection, AContainerThatIsItsPodStandsAlone) {
  ProtectionInput in = input();
  in.pods = {{"", {{kRoot + "/solo", mib(16, 16)}}, {}}};
  const auto held = holdProtection(in);
  EXPECT_EQ(held.count(kRoot + "/solo"), 0U);
  EXPECT_EQ(held.at(kRoot), mib(16, 16));
}

TEST(EffectiveProtection, WholeWhenEveryAncestorHoldsTheSum) {
  const auto out = effectiveProtection({{{kRoot, mib(48, 0)},
                                         {kBurstable, mib(48, 0)},
                                         {kPod, mib(48, 0)},
                                         {kPod + "/a", mib(32, 0)},
                                         {kPod + "/b", mib(16, 0)}},
                                        {{kRoot, {}}, {kBurstable, {}}}});
  EXPECT_EQ(out.at(kPod + "/a").value, mib(32, 0));
  EXPECT_EQ(out.at(kPod + "/a").limitingMin, "");
}

TEST(EffectiveProtection, AnAncestorAtZeroLeavesNothingAndIsNamed) {
  const auto out =
      effectiveProtection({{{kRoot, {}}, {kBurstable, {}}, {kPod, mib(32, 32)}, {kPod + "/a", mib(32, 32)}}, {}});
  EXPECT_EQ(out.at(kPod + "/a").value, Protection{});
  EXPECT_EQ(out.at(kPod + "/a").limitingMin, kBurstable);
  EXPECT_EQ(out.at(kPod + "/a").limitingLow, kBurstable);
}

TEST(EffectiveProtection, AShortParentIsSharedInProportion) {
  const auto out = effectiveProtection(
      {{{kRoot, mib(24, 0)}, {kGuaranteedPod, mib(32, 0)}, {kRoot + "/kubepods-podH.slice", mib(16, 0)}}, {}});
  EXPECT_EQ(out.at(kGuaranteedPod).value, mib(16, 0));
  EXPECT_EQ(out.at(kRoot + "/kubepods-podH.slice").value, mib(8, 0));
}

TEST(EffectiveProtection, UnmanagedPodsOfTheKubeletTakeTheirShare) {
  // The kubelet counts 96 for all pods of the slice, 32 of which are ours: the others' 64 dilute us only if the slice
  // is short.
  const auto enough = effectiveProtection({{{kBurstable, mib(0, 96)}, {kPod, mib(0, 32)}}, {{kBurstable, mib(0, 96)}}});
  EXPECT_EQ(enough.at(kPod).value, mib(0, 32));
  const auto tight = effectiveProtection({{{kBurstable, mib(0, 48)}, {kPod, mib(0, 32)}}, {{kBurstable, mib(0, 96)}}});
  EXPECT_EQ(tight.at(kPod).value, mib(0, 16));
}

}  // namespace
}  // namespace memqos::control
