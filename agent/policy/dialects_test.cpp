#include "policy/dialects.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

Settings both() {
  Settings settings;
  settings.dialects.koordinator = true;
  settings.dialects.nri = true;
  return settings;
}

TEST(Dialects, AreOffByDefault) {
  const Annotated annotations = {{"koordinator.sh/memoryQOS", R"({"minLimitPercent":50})"},
                                 {"memory.high.memory-qos.nri.io", "512M"},
                                 {"memory.low.memory-qos.nri.io/app", "nonsense"}};
  const PodPlan off = planOf(podOf("1Gi", "2Gi", annotations));
  EXPECT_TRUE(off.empty());
  EXPECT_TRUE(off.findings.empty()) << "keys of others are not our business";

  Settings one;
  one.dialects.koordinator = true;
  const PodPlan koordinator = planOf(podOf("1Gi", "2Gi", annotations), {}, one);
  EXPECT_EQ(wanted(koordinator, Knob::memoryMin), text("512Mi"));
  EXPECT_EQ(wanted(koordinator, Knob::memoryHigh), "-");

  one.dialects = {};
  one.dialects.nri = true;
  const PodPlan nri = planOf(podOf("1Gi", "2Gi", annotations), {}, one);
  EXPECT_EQ(wanted(nri, Knob::memoryMin), "-");
  EXPECT_EQ(wanted(nri, Knob::memoryHigh), text("512Mi"));
  EXPECT_EQ(summaries(nri), std::vector<std::string>{"InvalidAnnotation memory.low.memory-qos.nri.io/app app"});
}

TEST(Dialects, RankBelowOurAnnotationsAndAboveTheConfiguration) {
  Settings settings = both();
  settings.defaults.texts[Knob::memoryLow] = {"10Mi", {}, ""};
  settings.classes["gold"].texts[Knob::memoryLow] = {"20Mi", {}, ""};
  struct Row {
    Annotated annotations;
    std::string low;
    std::string origin;
    std::string asked;
  };
  const std::pair<std::string, std::string> gold{"memqos.io/class", "gold"};
  const std::pair<std::string, std::string> koordinator{"koordinator.sh/memoryQOS", R"({"lowLimitPercent":50})"};
  const std::pair<std::string, std::string> nriPod{"memory.low.memory-qos.nri.io", "30M"};
  const std::pair<std::string, std::string> nriContainer{"memory.low.memory-qos.nri.io/app", "40M"};
  const std::pair<std::string, std::string> own{"memqos.io/memory-low", "60Mi"};
  const std::vector<Row> rows = {
      {{gold}, "20Mi", "class gold", "20Mi"},
      {{gold, koordinator}, "512Mi", "annotation koordinator.sh/memoryQOS", "lowLimitPercent 50"},
      {{gold, koordinator, nriPod}, "30Mi", "annotation memory.low.memory-qos.nri.io", "30M"},
      {{nriContainer, nriPod, koordinator}, "40Mi", "annotation memory.low.memory-qos.nri.io/app", "40M"},
      {{nriContainer, nriPod, koordinator, own}, "60Mi", "annotation memqos.io/memory-low", "60Mi"},
  };
  for (const Row& row : rows) {
    const PodPlan plan = planOf(podOf("1Gi", "2Gi", row.annotations), {}, settings);
    EXPECT_EQ(wanted(plan, Knob::memoryLow), text(row.low)) << row.origin;
    EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryLow).origin), row.origin);
    EXPECT_EQ(plan.containers[0].at(Knob::memoryLow).asked, row.asked);
    EXPECT_TRUE(plan.findings.empty()) << row.origin;
  }
}

TEST(Dialects, ABadFieldLeavesTheKnobToTheNextSource) {
  Settings settings = both();
  settings.defaults.texts[Knob::memoryLow] = {"10Mi", {}, ""};
  const PodPlan plan = planOf(podOf("1Gi", "2Gi",
                                    {{"koordinator.sh/memoryQOS", R"({"lowLimitPercent":101,"minLimitPercent":1})"},
                                     {"memory.low.memory-qos.nri.io", "10%"}}),
                              {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryMin), std::to_string(10'735'616)) << "the rest of the annotation works";
  EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryLow).origin), "default");
  EXPECT_EQ(plan.findings.size(), 3U) << "two bad values, and low raised to min";
}

TEST(Dialects, OptingOutIsOfTheseToo) {
  const PodPlan plan = planOf(
      podOf(
          "1Gi", "2Gi",
          {{"memqos.io/managed", "false"}, {"koordinator.sh/memoryQOS", "{"}, {"memory.high.memory-qos.nri.io", "-1"}}),
      {}, both());
  EXPECT_FALSE(plan.managed);
  EXPECT_TRUE(plan.findings.empty());
}

// Both agents would write memory.min, memory.low and memory.high of every pod, koordlet once a second.
TEST(Dialects, KoordinatorIsRefusedWhereKoordletRuns) {
  Settings settings = both();
  settings.dialects.koordletEvidence = "koordlet runs on this node (process 77)";
  const PodPlan plan = planOf(podOf("1Gi", "2Gi",
                                    {{"koordinator.sh/memoryQOS", R"({"policy":"auto","minLimitPercent":50})"},
                                     {"memory.low.memory-qos.nri.io", "64M"}}),
                              {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryMin), "-");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi")) << "the other dialect is not koordlet's";
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_EQ(plan.findings[0].reason, Reason::unsupported);
  EXPECT_EQ(plan.findings[0].key, "koordinator.sh/memoryQOS");
  EXPECT_EQ(plan.findings[0].problem,
            "koordlet runs on this node (process 77), and two agents must not fight over the same files");

  EXPECT_TRUE(planOf(podOf("1Gi", "2Gi", {}), {}, settings).findings.empty()) << "only who asks is told";
}

TEST(Dialects, GuardrailsHold) {
  Settings settings = both();
  settings.guardrails.knobsByNamespace = {{"shop", {Knob::memoryLow}}};
  const PodPlan plan = planOf(podOf("1Gi", "2Gi",
                                    {{"koordinator.sh/memoryQOS", R"({"minLimitPercent":50,"lowLimitPercent":25})"},
                                     {"memory.high.memory-qos.nri.io", "512M"},
                                     {"memory.swap.max.memory-qos.nri.io/app", "0"}}),
                              {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryMin), "-");
  EXPECT_EQ(wanted(plan, Knob::memoryHigh), "-");
  EXPECT_EQ(wanted(plan, Knob::swapMax), "-");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("256Mi"));
  ASSERT_EQ(plan.findings.size(), 3U);
  for (const Finding& finding : plan.findings) {
    EXPECT_NE(finding.problem.find("pods of namespace 'shop' may not use"), std::string::npos) << finding.problem;
  }
}

TEST(Dialects, EveryMappedFieldHasItsKnobAndNamesAreUnique) {
  std::set<std::pair<Dialect, std::string_view>> seen;
  for (const DialectField& field : dialectFields()) {
    EXPECT_TRUE(seen.emplace(field.dialect, field.name).second) << field.name;
    EXPECT_LE(field.least, field.most) << field.name;
    const bool bare =
        field.meaning == Meaning::policy || field.meaning == Meaning::vendorKernel || field.meaning == Meaning::refused;
    EXPECT_EQ(field.knob.has_value(), !bare) << field.name;
    if (field.dialect != Dialect::nri || !field.knob) continue;
    EXPECT_EQ(info(*field.knob).file, field.name);
  }
}

TEST(Dialects, AFloodOfKeysIsCut) {
  Annotated annotations;
  for (int i = 0; i < 10'000; ++i) annotations.emplace_back("f" + std::to_string(i) + ".memory-qos.nri.io/app", "1");
  annotations.emplace_back("memory.low.memory-qos.nri.io", "64M");
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", annotations), {}, both());
  EXPECT_EQ(plan.findings.size(), 65U);
  EXPECT_EQ(plan.findings.back().problem, "this and 9935 more annotations cannot be used");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi"));
}

}  // namespace
}  // namespace memqos::policy
