#include "policy/rules.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

const auto kMin = Knob::memoryMin;
const auto kLow = Knob::memoryLow;
const auto kHigh = Knob::memoryHigh;

TEST(Rules, ProtectionIsAtMostTheRequest) {
  checkRows({
      {"fits", "100Mi", "", {{"memory-min", "100Mi"}, {"memory-low", "100Mi"}}, {{kMin, "100Mi"}, {kLow, "100Mi"}}, {}},
      {"min above", "100Mi", "", {{"memory-min", "101Mi"}}, {{kMin, "100Mi"}, {kLow, "-"}}, {kMin}},
      {"low above", "100Mi", "", {{"memory-low", "1Gi"}}, {{kLow, "100Mi"}}, {kLow}},
      {"all of an odd request",
       "100000001",
       "",
       {{"memory-min", "100000001"}, {"memory-low", "100%"}},
       {{kMin, "99999744"}, {kLow, "99999744"}},
       {}},
      {"no request",
       "",
       "",
       {{"memory-min", "64Mi"}, {"memory-low", "64Mi"}},
       {{kMin, "0"}, {kLow, "0"}},
       {kMin, kLow}},
      {"percent of no request", "", "", {{"memory-min", "50%"}}, {{kMin, "0"}}, {kMin}},
      {"nothing of no request", "", "", {{"memory-min", "0"}, {"memory-low", "0%"}}, {{kMin, "0"}, {kLow, "0"}}, {}},
      {"allocated, not the spec's",
       "200Mi",
       "",
       {{"memory-low", "150Mi"}},
       {{kLow, "100Mi"}},
       {kLow},
       {.allocatedRequest = mebibytes(100)}},
  });
}

TEST(Rules, MinLeavesRoomBelowTheLimit) {
  checkRows({
      {"a tenth", "1000Mi", "1000Mi", {{"memory-min", "1000Mi"}}, {{kMin, "900Mi"}}, {kMin}},
      {"32Mi of a small one", "100Mi", "100Mi", {{"memory-min", "100Mi"}}, {{kMin, "68Mi"}}, {kMin}},
      {"exactly", "68Mi", "100Mi", {{"memory-min", "68Mi"}}, {{kMin, "68Mi"}}, {}},
      {"nothing is left", "32Mi", "32Mi", {{"memory-min", "16Mi"}}, {{kMin, "0"}}, {kMin}},
      {"low may be all", "100Mi", "100Mi", {{"memory-low", "100%"}}, {{kLow, "100Mi"}}, {}},
      {"the kernel's limit counts",
       "100Mi",
       "1Gi",
       {{"memory-min", "100Mi"}},
       {{kMin, "68Mi"}},
       {kMin},
       {.limit = mebibytes(100)}},
  });
}

// kubernetes#126485, #126498, #137880: a Guaranteed pod whose memory.min is its memory.max is killed although its cache
// is clean.
TEST(Rules, GuaranteedPodKeepsReclaimableRoom) {
  checkRows({{"all of 1Gi", "1Gi", "1Gi", {{"memory-min", "100%"}}, {{kMin, "966365184"}}, {kMin}}});
}

// kubernetes#139771: for Guaranteed pods min may exceed the high that was computed.
TEST(Rules, MinLowHighAreInOrder) {
  checkRows({{"min 100%, high 80%",
              "500Mi",
              "500Mi",
              {{"memory-min", "100%"}, {"memory-low", "100%"}, {"memory-high", "80%"}},
              {{kMin, "450Mi"}, {kLow, "500Mi"}, {kHigh, "max"}},
              {kMin, kHigh}},
             {"without low",
              "500Mi",
              "500Mi",
              {{"memory-min", "100%"}, {"memory-high", "80%"}},
              {{kMin, "450Mi"}, {kHigh, "450Mi"}},
              {kMin, kHigh}}});
}

// oomd 5bc6897: a limit was set below memory.min.
TEST(Rules, HighIsNotUnderMin) {
  checkRows({{"min 200M, high 150M",
              "200M",
              "400M",
              {{"memory-min", "200M"}, {"memory-high", "150M"}},
              {{kMin, "199999488"}, {kHigh, "199999488"}},
              {kHigh}}});
}

// containerd#5226: a memory limit of one byte.
TEST(Rules, ALimitOfOneByteLeavesNothingToHold) {
  for (const std::int64_t limit : {0, 1, 4095, 4096}) {
    const PodPlan plan = planOf(podOf("1Gi", "",
                                      {{"memqos.io/memory-min", "64Mi"},
                                       {"memqos.io/memory-low", "50%"},
                                       {"memqos.io/memory-high", "50%"},
                                       {"memqos.io/swap-max", "50%"}}),
                                factsOf({.limit = Bytes{limit}}));
    EXPECT_EQ(wanted(plan, kMin), "0") << limit;
    EXPECT_EQ(wanted(plan, kHigh), "max") << limit;
    EXPECT_EQ(wanted(plan, Knob::swapMax), "0") << limit;
  }
}

TEST(Rules, LowIsRaisedToMin) {
  checkRows({
      {"under",
       "100Mi",
       "",
       {{"memory-min", "80Mi"}, {"memory-low", "40Mi"}},
       {{kMin, "80Mi"}, {kLow, "80Mi"}},
       {kLow}},
      {"low alone", "100Mi", "", {{"memory-low", "40Mi"}}, {{kMin, "-"}, {kLow, "40Mi"}}, {}},
      {"min alone sets no low", "100Mi", "", {{"memory-min", "40Mi"}}, {{kMin, "40Mi"}, {kLow, "-"}}, {}},
      {"after min was capped",
       "100Mi",
       "100Mi",
       {{"memory-min", "100Mi"}, {"memory-low", "70Mi"}},
       {{kMin, "68Mi"}, {kLow, "70Mi"}},
       {kMin}},
      {"the kubelet's min",
       "100Mi",
       "",
       {{"memory-low", "40Mi"}},
       {{kMin, "-"}, {kLow, "60Mi"}},
       {kLow},
       {.foundMin = mebibytes(60)}},
      {"ours replaces the kubelet's",
       "100Mi",
       "",
       {{"memory-min", "10Mi"}, {"memory-low", "40Mi"}},
       {{kMin, "10Mi"}, {kLow, "40Mi"}},
       {},
       {.foundMin = mebibytes(60)}},
  });
}

TEST(Rules, High) {
  checkRows({
      {"as asked", "100Mi", "400Mi", {{"memory-high", "300Mi"}}, {{kHigh, "300Mi"}}, {}},
      {"max", "100Mi", "400Mi", {{"memory-high", "max"}}, {{kHigh, "max"}}, {}},
      {"at the limit", "100Mi", "400Mi", {{"memory-high", "400Mi"}}, {{kHigh, "max"}}, {kHigh}},
      {"above the limit", "100Mi", "400Mi", {{"memory-high", "1Gi"}}, {{kHigh, "max"}}, {kHigh}},
      {"100%", "100Mi", "400Mi", {{"memory-high", "100%"}}, {{kHigh, "max"}}, {kHigh}},
      {"above the node", "", "", {{"memory-high", "65Gi"}}, {{kHigh, "max"}}, {kHigh}},
      {"under low", "200Mi", "400Mi", {{"memory-low", "200Mi"}, {"memory-high", "100Mi"}}, {{kHigh, "200Mi"}}, {kHigh}},
      {"under the kubelet's low",
       "200Mi",
       "400Mi",
       {{"memory-high", "100Mi"}},
       {{kHigh, "150Mi"}},
       {kHigh},
       {.foundLow = mebibytes(150)}},
      {"under the larger of the kubelet's min and our low",
       "200Mi",
       "400Mi",
       {{"memory-low", "120Mi"}, {"memory-high", "100Mi"}},
       {{kLow, "120Mi"}, {kHigh, "120Mi"}},
       {kHigh},
       {.foundMin = mebibytes(110)}},
      {"the kubelet's high is replaced",
       "100Mi",
       "400Mi",
       {{"memory-high", "300Mi"}},
       {{kHigh, "300Mi"}},
       {},
       {.foundHigh = mebibytes(200)}},
      {"Guaranteed, explicit: honoured", "400Mi", "400Mi", {{"memory-high", "300Mi"}}, {{kHigh, "300Mi"}}, {}},
      {"a limit of one byte",
       "",
       "1Gi",
       {{"memory-high", "128Mi"}},
       {{kHigh, "max"}},
       {kHigh},
       {.limit = Limit(Bytes{1})}},
  });
}

// open-telemetry-operator#3479: a dd in a 512Mi pod survives with memory.high at 80 %.
TEST(Rules, HighAsPercentOfALimitThatIsNoMultiple) {
  checkRows({{"80% of 512Mi", "256Mi", "512Mi", {{"memory-high", "80%"}}, {{kHigh, "429494272"}}, {}}});
}

TEST(Rules, SmallestHigh) {
  checkRows({
      {"raised", "10Mi", "400Mi", {{"memory-high", "32Mi"}}, {{kHigh, "64Mi"}}, {kHigh}},
      {"0", "10Mi", "400Mi", {{"memory-high", "0"}}, {{kHigh, "64Mi"}}, {kHigh}},
      {"exactly", "10Mi", "400Mi", {{"memory-high", "64Mi"}}, {{kHigh, "64Mi"}}, {}},
      {"too close to the limit", "10Mi", "72Mi", {{"memory-high", "32Mi"}}, {{kHigh, "max"}}, {kHigh}},
      {"just far enough", "10Mi", "73Mi", {{"memory-high", "32Mi"}}, {{kHigh, "64Mi"}}, {kHigh}},
      {"a small limit, a high above the smallest", "10Mi", "70Mi", {{"memory-high", "66Mi"}}, {{kHigh, "66Mi"}}, {}},
      {"auto is not reported", "10Mi", "50Mi", {{"memory-high", "auto"}}, {{kHigh, "max"}}, {}},
      {"auto above it", "1Mi", "80Mi", {{"memory-high", "auto"}}, {{kHigh, "75599872"}}, {}},
  });
  Settings settings;
  settings.guardrails.smallestHigh = Bytes{};
  checkRows({{"switched off", "10Mi", "400Mi", {{"memory-high", "1Mi"}}, {{kHigh, "1Mi"}}, {}}}, settings);
  settings.guardrails.smallestHigh = bytesOf("100M");
  checkRows({{"another one, up to a page", "10Mi", "400Mi", {{"memory-high", "1Mi"}}, {{kHigh, "100003840"}}, {kHigh}}},
            settings);
  settings.throttlingFactorPermille = 100;
  checkRows({{"auto is raised too", "10Mi", "400Mi", {{"memory-high", "auto"}}, {{kHigh, "100003840"}}, {}}}, settings);
}

TEST(Rules, MinsOfAPodFitItsLimitTogether) {
  const auto init = ContainerKind::init;
  const auto sidecar = ContainerKind::sidecar;
  struct PodRow {
    std::string what;
    std::vector<Container> containers;
    std::string podLimit;
    std::string min;
    std::vector<std::string> mins;
    std::size_t adjusted;
  };
  const std::vector<PodRow> rows = {
      {"fits", {container("a", "450Mi", ""), container("b", "450Mi", "")}, "1000Mi", "100%", {"450Mi", "450Mi"}, 0},
      {"in proportion",
       {container("a", "600Mi", ""), container("b", "300Mi", ""), container("c", "300Mi", "")},
       "1000Mi",
       "100%",
       {"450Mi", "225Mi", "225Mi"},
       3},
      {"to a page",
       {container("a", "100Mi", ""), container("b", "100Mi", ""), container("c", "100Mi", "")},
       "300Mi",
       "100%",
       {"93671424", "93671424", "93671424"},
       3},
      {"nothing fits", {container("a", "10Mi", ""), container("b", "10Mi", "")}, "32Mi", "100%", {"0", "0"}, 2},
      {"sidecars count",
       {container("s", "500Mi", "", sidecar), container("a", "500Mi", "")},
       "1000Mi",
       "100%",
       {"450Mi", "450Mi"},
       2},
      {"an init container runs before the others",
       {container("i", "900Mi", "", init), container("a", "900Mi", "")},
       "1000Mi",
       "100%",
       {"900Mi", "900Mi"},
       0},
      {"but beside sidecars",
       {container("s", "300Mi", "", sidecar), container("i", "800Mi", "", init), container("a", "600Mi", "")},
       "1000Mi",
       "100%",
       {"300Mi", "600Mi", "600Mi"},
       1},
  };
  for (const PodRow& row : rows) {
    Pod pod = podOf(row.containers, {{"memqos.io/memory-min", row.min}});
    pod.podLimit = bytesOf(row.podLimit);
    const PodPlan plan = planOf(pod);
    for (std::size_t i = 0; i < row.mins.size(); ++i)
      EXPECT_EQ(wanted(plan, kMin, i), text(row.mins[i])) << row.what << " " << i;
    EXPECT_EQ(plan.findings.size(), row.adjusted) << row.what;

    // The limit that the kernel has counts, not the spec's.
    pod.podLimit = mebibytes(1024 * 1024);
    PodFacts facts;
    facts.podLimit = bytesOf(row.podLimit);
    const PodPlan kernel = planOf(pod, facts);
    for (std::size_t i = 0; i < row.mins.size(); ++i)
      EXPECT_EQ(wanted(kernel, kMin, i), text(row.mins[i])) << row.what << " " << i;
  }
}

TEST(Rules, LowFollowsAMinThatWasScaled) {
  Pod pod = podOf({container("a", "600Mi", ""), container("b", "600Mi", "")},
                  {{"memqos.io/memory-min", "100%"}, {"memqos.io/memory-low", "460Mi"}});
  pod.podLimit = mebibytes(1000);
  const PodPlan plan = planOf(pod);
  EXPECT_EQ(wanted(plan, kMin), text("450Mi"));
  EXPECT_EQ(wanted(plan, kLow), text("460Mi")) << "not raised to what min was before";
}

}  // namespace
}  // namespace memqos::policy
