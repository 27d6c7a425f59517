#include "policy/rules.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

const auto kHigh = Knob::memoryHigh;

TEST(Rules, SwapMayOnlyBeLowered) {
  const std::vector<RuleRow> rows = {
      {"lower", "100Mi", "1Gi", {{"swap-max", "0"}}, {{Knob::swapMax, "0"}}, {}, {.foundSwapMax = mebibytes(10)}},
      {"raise",
       "100Mi",
       "1Gi",
       {{"swap-max", "64Mi"}},
       {{Knob::swapMax, "10Mi"}},
       {Knob::swapMax},
       {.foundSwapMax = mebibytes(10)}},
      {"max",
       "100Mi",
       "1Gi",
       {{"swap-max", "max"}},
       {{Knob::swapMax, "0"}},
       {Knob::swapMax},
       {.foundSwapMax = Limit()}},
      {"max of max",
       "100Mi",
       "1Gi",
       {{"swap-max", "max"}},
       {{Knob::swapMax, "max"}},
       {},
       {.foundSwapMax = Limit::max()}},
      {"not known", "100Mi", "1Gi", {{"swap-max", "max"}}, {{Knob::swapMax, "max"}}, {}},
      {"zswap",
       "100Mi",
       "1Gi",
       {{"zswap-max", "50%"}},
       {{Knob::zswapMax, "10Mi"}},
       {Knob::zswapMax},
       {.foundZswapMax = mebibytes(10)}},
      {"high follows what max became",
       "100Mi",
       "1Gi",
       {{"swap-max", "max"}, {"swap-high", "64Mi"}},
       {{Knob::swapMax, "10Mi"}, {Knob::swapHigh, "10Mi"}},
       {Knob::swapMax, Knob::swapHigh},
       {.foundSwapMax = mebibytes(10)}},
  };
  checkRows(rows);
  Settings settings;
  settings.guardrails.swapMayRaise = true;
  checkRows({{"raise",
              "100Mi",
              "1Gi",
              {{"swap-max", "64Mi"}, {"zswap-max", "max"}},
              {{Knob::swapMax, "64Mi"}, {Knob::zswapMax, "max"}},
              {},
              {.foundSwapMax = mebibytes(10), .foundZswapMax = Limit()}}},
            settings);
}

// kubernetes#127853: LimitedSwap leaves a 100Mi request on a 64Gi node with 4Gi of swap 6553600 bytes.
// kubernetes#130111: swap is computed anew when memory is resized.
TEST(Rules, SwapFollowsTheKubeletAndTheLimit) {
  checkRows(
      {{"LimitedSwap stands",
        "100Mi",
        "1Gi",
        {{"swap-max", "50%"}},
        {{Knob::swapMax, "6553600"}},
        {Knob::swapMax},
        {.foundSwapMax = Limit(Bytes{6'553'600})}},
       {"before", "64Mi", "64Mi", {{"swap-max", "50%"}}, {{Knob::swapMax, "32Mi"}}, {}, {.limit = mebibytes(64)}},
       {"after", "64Mi", "64Mi", {{"swap-max", "50%"}}, {{Knob::swapMax, "48Mi"}}, {}, {.limit = mebibytes(96)}}});
}

TEST(Rules, FreezeNeedsTheOperator) {
  const Pod pod = podOf("100Mi", "1Gi", {{"memqos.io/dirty-throttle", "freeze"}, {"memqos.io/dirty-limit", "64Mi"}});
  const PodPlan plan = planOf(pod);
  EXPECT_EQ(wanted(plan, Knob::dirtyThrottle), "auto");
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"AdjustedValue memqos.io/dirty-throttle app"});
  EXPECT_EQ(plan.containers[0].at(Knob::dirtyThrottle).asked, "freeze");
  Settings settings;
  settings.guardrails.freezeAllowed = true;
  EXPECT_EQ(wanted(planOf(pod, {}, settings), Knob::dirtyThrottle), "freeze");
}

TEST(Rules, OrdersOfTheEngines) {
  const Knob rHigh = Knob::reclaimHigh;
  const Knob rLow = Knob::reclaimLow;
  const Knob dirty = Knob::dirtyLimit;
  const Knob background = Knob::dirtyBackground;
  checkRows({
      {"swap-high",
       "1Mi",
       "1Gi",
       {{"swap-max", "64Mi"}, {"swap-high", "65Mi"}},
       {{Knob::swapHigh, "64Mi"}},
       {Knob::swapHigh}},
      {"swap-high max",
       "1Mi",
       "1Gi",
       {{"swap-max", "64Mi"}, {"swap-high", "max"}},
       {{Knob::swapHigh, "64Mi"}},
       {Knob::swapHigh}},
      {"swap-high alone", "1Mi", "1Gi", {{"swap-high", "65Mi"}}, {{Knob::swapHigh, "65Mi"}}, {}},
      {"page-cache-limit",
       "1Mi",
       "1Gi",
       {{"page-cache-limit", "2Gi"}},
       {{Knob::pageCacheLimit, "1Gi"}},
       {Knob::pageCacheLimit}},
      {"page-cache-limit off", "1Mi", "1Gi", {{"page-cache-limit", "off"}}, {{Knob::pageCacheLimit, "off"}}, {}},
      {"reclaim-high at the limit",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "100%"}},
       {{rHigh, "1Gi"}},
       {}},
      {"reclaim-high above the limit",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "2Gi"}},
       {{rHigh, "1Gi"}},
       {rHigh}},
      {"reclaim-high at high",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"memory-high", "512Mi"}, {"reclaim-high", "512Mi"}},
       {{rHigh, "536866816"}},
       {rHigh}},
      {"reclaim-high at the kubelet's high",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "600Mi"}},
       {{rHigh, "536866816"}},
       {rHigh},
       {.foundHigh = mebibytes(512)}},
      {"percent of high",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"memory-high", "512Mi"}, {"reclaim-high", "75%"}, {"reclaim-low", "50%"}},
       {{rHigh, "384Mi"}, {rLow, "256Mi"}},
       {}},
      {"percent of the kubelet's high",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "75%"}},
       {{rHigh, "384Mi"}},
       {},
       {.foundHigh = mebibytes(512)}},
      {"percent of high that became max",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"memory-high", "1Gi"}, {"reclaim-high", "75%"}},
       {{rHigh, "768Mi"}},
       {kHigh}},
      {"percent of high after it was raised",
       "200Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"memory-low", "200Mi"}, {"memory-high", "100Mi"}, {"reclaim-high", "50%"}},
       {{rHigh, "100Mi"}},
       {kHigh}},
      {"reclaim-low at reclaim-high",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "512Mi"}, {"reclaim-low", "512Mi"}},
       {{rHigh, "512Mi"}, {rLow, "536866816"}},
       {rLow}},
      {"reclaim-low after reclaim-high was lowered",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"memory-high", "512Mi"}, {"reclaim-high", "1Gi"}, {"reclaim-low", "600Mi"}},
       {{rHigh, "536866816"}, {rLow, "536862720"}},
       {rHigh, rLow}},
      {"reclaim-low under nothing",
       "1Mi",
       "1Gi",
       {{"reclaim", "auto"}, {"reclaim-high", "0"}, {"reclaim-low", "0"}},
       {{rLow, "0"}},
       {}},
      {"reclaim-low alone", "1Mi", "1Gi", {{"reclaim", "auto"}, {"reclaim-low", "512Mi"}}, {{rLow, "512Mi"}}, {}},
      {"dirty-limit", "1Mi", "100Mi", {{"dirty-limit", "200Mi"}}, {{dirty, "100Mi"}, {background, "50Mi"}}, {dirty}},
      {"dirty-background",
       "1Mi",
       "1Gi",
       {{"dirty-limit", "64Mi"}, {"dirty-background", "65Mi"}},
       {{background, "64Mi"}},
       {background}},
      {"dirty-background off",
       "1Mi",
       "1Gi",
       {{"dirty-limit", "64Mi"}, {"dirty-background", "off"}},
       {{background, "off"}},
       {}},
      {"dirty-background alone",
       "1Mi",
       "1Gi",
       {{"dirty-background", "64Mi"}},
       {{background, "64Mi"}, {dirty, "-"}},
       {}},
      {"dirty-limit off", "1Mi", "1Gi", {{"dirty-limit", "off"}}, {{dirty, "off"}, {background, "-"}}, {}},
      {"half of three pages", "1Mi", "1Gi", {{"dirty-limit", "12Ki"}}, {{background, "4Ki"}}, {}},
  });
}

TEST(Rules, DerivedAndIdleValuesSayWhy) {
  const PodPlan plan = planOf(podOf(
      "1Mi", "1Gi",
      {{"memqos.io/dirty-limit", "64Mi"}, {"memqos.io/reclaim-high", "512Mi"}, {"memqos.io/memory-high", "auto"}}));
  const ContainerPlan& app = plan.containers[0];
  EXPECT_EQ(app.at(Knob::dirtyBackground).why, "half of dirty-limit");
  EXPECT_EQ(app.at(Knob::dirtyBackground).asked, std::nullopt);
  EXPECT_EQ(toText(app.at(Knob::dirtyBackground).origin), "default");
  EXPECT_EQ(app.at(Knob::reclaimHigh).why, "no effect without reclaim");
  EXPECT_EQ(app.at(Knob::memoryHigh).why, "auto: request 1Mi + 0.9 x what is between it and the limit 1Gi");
  EXPECT_EQ(app.at(Knob::dirtyLimit).why, "");
}

TEST(Rules, FindingsReadWell) {
  const PodPlan plan =
      planOf(podOf("512Mi", "1Gi", {{"memory-low.memqos.io/app", "2Gi"}, {"memqos.io/memory-high", "16Mi"}}));
  ASSERT_EQ(plan.findings.size(), 2U);
  EXPECT_EQ(plan.findings[0].key, "memory-low.memqos.io/app");
  EXPECT_EQ(plan.findings[0].value, "2Gi");
  EXPECT_EQ(plan.findings[0].container, "app");
  EXPECT_EQ(plan.findings[0].problem, "memory-low 2Gi is above the memory request 512Mi: lowered to 512Mi");
  EXPECT_EQ(plan.findings[0].advice, "raise the container's memory request, or ask for less");
  EXPECT_EQ(plan.findings[0].source.position, (document::Position{10, 7}));
  EXPECT_EQ(plan.findings[1].problem, "memory-high 16Mi is under memory-low 512Mi: raised to 512Mi");
  EXPECT_EQ(plan.containers[0].at(Knob::memoryLow).why, plan.findings[0].problem);
  EXPECT_EQ(plan.containers[0].at(Knob::memoryLow).asked, "2Gi");
}

TEST(Rules, WhatWasFoundIsNotSaidToBeAsked) {
  const PodPlan plan =
      planOf(podOf("512Mi", "1Gi", {{"memqos.io/memory-low", "64Mi"}}), factsOf({.foundMin = mebibytes(128)}));
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_EQ(plan.findings[0].problem,
            "memory-low 64Mi is under the memory.min 128Mi that was set before memqos: raised to 128Mi");
}

TEST(Rules, OneFindingHoldsAllMovesOfAKnob) {
  const PodPlan plan = planOf(podOf("100Mi", "100Mi", {{"memqos.io/memory-min", "200Mi"}}));
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_EQ(
      plan.findings[0].problem,
      "memory-min 200Mi is above the memory request 100Mi: lowered to 100Mi; memory-min 100Mi leaves too little of the "
      "limit 100Mi for cache to be reclaimed (32Mi, or 10% if that is more): lowered to 68Mi");
}

TEST(Rules, ChangesOfTheOperatorsValuesNameTheOperatorsKey) {
  Settings settings;
  settings.classes["gold"].texts[Knob::memoryLow] = {"1Gi", {4, 9}, "agent.yaml"};
  const PodPlan plan = planOf(podOf("100Mi", "", {{"memqos.io/class", "gold"}}), {}, settings);
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"AdjustedValue classes.gold.memoryLow app"});
  EXPECT_EQ(plan.findings[0].source.file, "agent.yaml");
}

}  // namespace
}  // namespace memqos::policy
