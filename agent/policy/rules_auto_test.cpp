#include "policy/rules.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

const auto kHigh = Knob::memoryHigh;

// The check table of KEP-2570, limit 1000Mi: request, factor, memory.high.
TEST(Auto, AutoIsTheFormulaOfKep2570) {
  struct KepRow {
    std::string request;
    std::int64_t permille;
    std::string high;
  };
  const std::vector<KepRow> rows = {{"500Mi", 600, "800Mi"}, {"800Mi", 600, "920Mi"}, {"1000Mi", 600, "max"},
                                    {"500Mi", 800, "900Mi"}, {"850Mi", 800, "970Mi"}, {"500Mi", 400, "700Mi"}};
  for (const KepRow& row : rows) {
    Settings settings;
    settings.throttlingFactorPermille = row.permille;
    const PodPlan plan = planOf(podOf(row.request, "1000Mi", {{"memqos.io/memory-high", "auto"}}), {}, settings);
    EXPECT_EQ(wanted(plan, kHigh), bytesText(row.high)) << row.request << " " << row.permille;
    EXPECT_TRUE(plan.findings.empty());
  }
}

TEST(Auto, AutoElsewhere) {
  checkRows({
      {"default factor", "256Mi", "512Mi", {{"memory-high", "auto"}}, {{kHigh, "510025728"}}, {}},
      {"Guaranteed", "512Mi", "512Mi", {{"memory-high", "auto"}}, {{kHigh, "max"}}, {}},
      {"no limit: the node's", "", "", {{"memory-high", "auto"}}, {{kHigh, "61847527424"}}, {}},
      {"above min", "500Mi", "1000Mi", {{"memory-high", "auto"}, {"memory-min", "500Mi"}}, {{kHigh, "950Mi"}}, {}},
      {"the kubelet's min is not under it",
       "500Mi",
       "1000Mi",
       {{"memory-high", "auto"}},
       {{kHigh, "max"}},
       {},
       {.foundMin = mebibytes(960)}},
      {"at the kubelet's min",
       "500Mi",
       "1000Mi",
       {{"memory-high", "auto"}},
       {{kHigh, "max"}},
       {},
       {.foundMin = mebibytes(950)}},
      {"the kubelet's low raises it, silently",
       "500Mi",
       "1000Mi",
       {{"memory-high", "auto"}},
       {{kHigh, "960Mi"}},
       {},
       {.foundLow = mebibytes(960)}},
      {"a limit under the request while it is resized",
       "500Mi",
       "1000Mi",
       {{"memory-high", "auto"}},
       {{kHigh, "max"}},
       {},
       {.limit = mebibytes(400)}},
  });
}

// kubernetes#137685, #138139: a BestEffort pod was taken for a Guaranteed one because 0 == 0.
// koordinator#1438, #1455: request 0, limit 0, allocatable known.
TEST(Auto, AutoOfABestEffortPod) {
  for (const std::string zero : {"", "0"}) {
    const PodPlan plan =
        planOf(podOf(zero, zero, {{"memqos.io/memory-high", "auto"}}), {}, {}, {bytesOf("32388480Ki"), kPage});
    EXPECT_EQ(wanted(plan, kHigh), text("29149632Ki"));
    EXPECT_TRUE(plan.findings.empty());
  }
}

}  // namespace
}  // namespace memqos::policy
