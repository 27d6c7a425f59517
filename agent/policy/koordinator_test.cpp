#include "policy/dialects.h"
#include "policy/testing.h"

namespace memqos::policy {
namespace {

Settings on() {
  Settings settings;
  settings.dialects.koordinator = true;
  return settings;
}

const std::string kKey = "koordinator.sh/memoryQOS";

PodPlan planFor(const std::string& json, const std::string& request = "1Gi", const std::string& limit = "2Gi") {
  return planOf(podOf(request, limit, {{kKey, json}}), {}, on());
}

struct Row {
  std::string json;
  std::string request;
  std::string limit;
  std::map<Knob, std::string> wanted;  // quantities; every other knob: nothing
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const PodPlan plan = planFor(row.json, row.request, row.limit);
    for (const KnobInfo& knob : knobs()) {
      const auto expected = row.wanted.find(knob.knob);
      EXPECT_EQ(wanted(plan, knob.knob), expected == row.wanted.end() ? "-" : expected->second)
          << row.json << ": " << knob.name;
    }
    EXPECT_EQ(summaries(plan), std::vector<std::string>{}) << row.json;
  }
}

TEST(Koordinator, EveryFieldBecomesItsKnob) {
  check({
      {R"({"minLimitPercent":25,"lowLimitPercent":50})",
       "1Gi",
       "2Gi",
       {{Knob::memoryMin, text("256Mi")}, {Knob::memoryLow, text("512Mi")}}},
      {R"({"lowLimitPercent":100})", "1Gi", "", {{Knob::memoryLow, text("1Gi")}}},
      {R"({"throttlingPercent":0})", "1Gi", "2Gi", {{Knob::memoryHigh, "max"}}},
      {R"({"oomKillGroup":1})", "1Gi", "2Gi", {{Knob::oomGroup, "true"}}},
      {R"({"oomKillGroup":false})", "1Gi", "2Gi", {{Knob::oomGroup, "false"}}},
      {R"({"wmarkRatio":90,"wmarkScalePermill":100})",
       "1Gi",
       "1000Mi",
       {{Knob::reclaim, "watermark"}, {Knob::reclaimHigh, text("900Mi")}, {Knob::reclaimLow, text("800Mi")}}},
      {R"({"wmarkRatio":50})", "1Gi", "2Gi", {{Knob::reclaim, "watermark"}, {Knob::reclaimHigh, text("1Gi")}}},
      {R"({"wmarkRatio":0,"wmarkScalePermill":20})", "1Gi", "2Gi", {{Knob::reclaim, "off"}}},
      {R"({"wmarkScalePermill":20})", "1Gi", "2Gi", {}},
      {R"({"pageCacheEnable":1,"pageCacheLimitPercent":50})", "1Gi", "2Gi", {{Knob::pageCacheLimit, text("1Gi")}}},
      {R"({"pageCacheEnable":true,"pageCacheLimitPercent":50,"pageCacheLimitSize":67108864})",
       "1Gi",
       "2Gi",
       {{Knob::pageCacheLimit, text("64Mi")}}},
      {R"({"pageCacheEnable":0,"pageCacheLimitPercent":50})", "1Gi", "2Gi", {{Knob::pageCacheLimit, "off"}}},
      {R"({"wmarkMinAdj":0,"priority":0,"priorityEnable":0,"pageCacheReclaimSync":0})", "1Gi", "2Gi", {}},
      {R"({"minLimitPercent":null,"policy":null})", "1Gi", "2Gi", {}},
      {" {} ", "1Gi", "2Gi", {}},
  });
}

// The watermarks are of the smaller of limit and memory.high, as the vendor's kernel has them.
TEST(Koordinator, WatermarksFollowMemoryHigh) {
  const PodPlan plan =
      planOf(podOf("0", "2000Mi",
                   {{kKey, R"({"wmarkRatio":90,"wmarkScalePermill":100})"}, {"memqos.io/memory-high", "1000Mi"}}),
             {}, on());
  EXPECT_EQ(wanted(plan, Knob::reclaimHigh), text("900Mi"));
  EXPECT_EQ(wanted(plan, Knob::reclaimLow), text("800Mi"));
}

// koordinator#1438 and #1455: memory.high was taken of the limit alone, and of nothing where a limit was missing. It is
// floor((request + (limit or allocatable - request) * percent / 100) / page) * page.
TEST(Koordinator, MemoryHighIsKoordinatorsFormula) {
  struct High {
    std::string request, limit;
    int percent;
    std::string high;
  };
  const std::vector<High> rows = {
      {"500Mi", "1000Mi", 60, text("800Mi")},
      {"800Mi", "1000Mi", 60, text("920Mi")},
      {"0", "1000Mi", 80, text("800Mi")},
      {"", "", 50, text("32Gi")},  // of the node's allocatable
      {"16Gi", "", 50, text("40Gi")},
      {"0", "0", 25, text("16Gi")},     // 0 is no limit
      {"1Gi", "1000003Ki", 33, "max"},  // a request above the limit leaves nothing to throttle
      {"100Mi", "1000Mi", 1, text("109Mi")},
      {"100Mi", "1000Mi", 100, "max"},                          // the limit itself
      {"0", "1000001Ki", 90, std::to_string(900000LL * 1024)},  // down to a page
  };
  for (const High& row : rows) {
    const PodPlan plan =
        planFor(R"({"throttlingPercent":)" + std::to_string(row.percent) + "}", row.request, row.limit);
    EXPECT_EQ(wanted(plan, Knob::memoryHigh), row.high) << row.request << " " << row.limit << " " << row.percent;
    EXPECT_TRUE(plan.findings.empty()) << "as auto: a result of the formula is no adjustment";
  }
  Pod guaranteed = podOf("1Gi", "1Gi", {{kKey, R"({"throttlingPercent":80})"}});
  guaranteed.statusQos = QosClass::guaranteed;
  const PodPlan plan = planOf(guaranteed, {}, on());
  EXPECT_EQ(wanted(plan, Knob::memoryHigh), "max");
  EXPECT_EQ(plan.containers[0].at(Knob::memoryHigh).why, "throttlingPercent 80 is max in a Guaranteed pod");
}

TEST(Koordinator, OurAutoKeepsTheConfiguredFactor) {
  Settings settings = on();
  settings.throttlingFactorPermille = 500;
  const Annotated annotations = {{kKey, R"({"throttlingPercent":80})"}, {"memory-high.memqos.io/app", "auto"}};
  const PodPlan plan =
      planOf(podOf({container("app", "0", "1000Mi"), container("other", "0", "1000Mi")}, annotations), {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 0), text("500Mi"));
  EXPECT_EQ(wanted(plan, Knob::memoryHigh, 1), text("800Mi"));
}

TEST(Koordinator, PoliciesAreTemplates) {
  const std::map<Knob, std::string> none = {{Knob::memoryMin, "0"},
                                            {Knob::memoryLow, "0"},
                                            {Knob::memoryHigh, "max"},
                                            {Knob::reclaim, "off"},
                                            {Knob::pageCacheLimit, "off"}};
  std::map<Knob, std::string> automatic = {{Knob::memoryMin, "0"},
                                           {Knob::memoryLow, "0"},
                                           {Knob::memoryHigh, "max"},
                                           {Knob::reclaim, "watermark"},
                                           {Knob::reclaimHigh, text("950Mi")},
                                           {Knob::reclaimLow, text("930Mi")}};
  check({{R"({"policy":"auto"})", "1Gi", "1000Mi", automatic}});
  automatic[Knob::memoryLow] = text("50Mi");
  automatic[Knob::reclaimHigh] = text("800Mi");
  automatic[Knob::reclaimLow] = text("780Mi");
  check({
      {R"({"lowLimitPercent":50,"policy":"auto","wmarkRatio":80})", "100Mi", "1000Mi", automatic},
      {R"({"policy":"none"})", "1Gi", "2Gi", none},
      {R"({"policy":"none","lowLimitPercent":50,"throttlingPercent":80})", "1Gi", "2Gi", none},
      {R"({"policy":"default"})", "1Gi", "2Gi", {}},
      {R"({"policy":""})", "1Gi", "2Gi", {}},
      {R"({"policy":"default","lowLimitPercent":50})", "1Gi", "2Gi", {{Knob::memoryLow, text("512Mi")}}},
  });
}

// Koordinator's field table: low is raised to min.
TEST(Koordinator, LowUnderMinIsRaised) {
  const PodPlan plan = planFor(R"({"lowLimitPercent":50,"minLimitPercent":60})", "1000Mi");
  EXPECT_EQ(wanted(plan, Knob::memoryMin), text("600Mi"));
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("600Mi"));
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"AdjustedValue koordinator.sh/memoryQOS app"});
  EXPECT_EQ(plan.findings[0].value, "lowLimitPercent 50");
}

TEST(Koordinator, WithoutARequestNothingIsProtected) {
  const PodPlan plan = planFor(R"({"minLimitPercent":50})", "", "");
  EXPECT_EQ(wanted(plan, Knob::memoryMin), "0");
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_EQ(plan.findings[0].problem, "minLimitPercent 50 of no memory request is 0");
}

struct BadRow {
  std::string json;
  std::string problem;  // its beginning
  std::string advice;   // its beginning
};

void checkBad(const std::vector<BadRow>& rows) {
  for (const BadRow& row : rows) {
    const PodPlan plan = planFor(row.json);
    ASSERT_EQ(plan.findings.size(), 1U) << row.json.substr(0, 80);
    const Finding& finding = plan.findings[0];
    EXPECT_EQ(finding.reason, Reason::invalidAnnotation) << row.json;
    EXPECT_EQ(finding.key, kKey);
    EXPECT_EQ(finding.source.position.line, 10U);
    EXPECT_EQ(finding.problem.substr(0, row.problem.size()), row.problem);
    EXPECT_EQ(finding.advice.substr(0, row.advice.size()), row.advice) << finding.problem;
    EXPECT_TRUE(plan.empty()) << row.json;
  }
}

// koordinator#482, PR#518: malformed JSON was dropped without a word.
TEST(Koordinator, WhatIsNoObjectIsReported) {
  const std::string advice = R"(write an object such as {"policy": "auto"})";
  checkBad({
      {R"({"policy":"auto")", "not a JSON object: not valid JSON: unexpected end of input", advice},
      {R"("")", "not a JSON object: it is a string", advice},
      {"", "not a JSON object: ", advice},
      {"null", "not a JSON object: it is null", advice},
      {"[]", "not a JSON object: it is a list", advice},
      {"42", "not a JSON object: it is a number", advice},
      {"policy: auto", "not a JSON object: not valid JSON", advice},
      {R"({"policy":"auto"} {})", "not a JSON object: ", advice},
      {R"({'policy':'auto'})", "not a JSON object: ", advice},
      {R"({"lowLimitPercent":50,"lowLimitPercent":60})", "not a JSON object: duplicate key 'lowLimitPercent'", advice},
      {R"({"lowLimitPercent":NaN})", "not a JSON object: not valid JSON", advice},
      {"\xEF\xBB\xBF{}", "not a JSON object: JSON must not start with a byte order mark", advice},
      {R"({"a":")" + std::string(300 * 1024, 'x') + "\"}", "not a JSON object: 307208 bytes; at most 16384 are read",
       advice},
      {std::string(10'000, '['), "not a JSON object: nested too deeply", advice},
      {"{\"a\xff\":1}", "not a JSON object: ", advice},
  });
}

// Koordinator takes any text as a policy; an unknown one is as `default` there, whatever its author meant.
TEST(Koordinator, UnknownPoliciesAreReported) {
  checkBad({
      {R"({"policy":"Auto"})", "there is no policy 'Auto'", "did you mean auto?"},
      {R"({"policy":"foo"})", "there is no policy 'foo'", "use one of default, none, auto"},
      {R"({"policy":1})", "there is no policy '1'", "use one of"},
      {R"({"policy":{"a":1}})", "there is no policy (a map)", "use one of"},
  });
  const PodPlan plan = planFor(R"({"policy":"Auto","lowLimitPercent":50})");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("512Mi")) << "the fields count";
  EXPECT_EQ(wanted(plan, Knob::reclaim), "-");
}

TEST(Koordinator, FieldsThatCannotBeUsedAreReported) {
  checkBad({
      {R"({"throttlingPercent":"80"})", "throttlingPercent '80' is not a whole number", "write 80 without quotes"},
      {R"({"throttlingPercent":"800"})", "throttlingPercent '800' is not a", "write a whole number, from 0 to 100"},
      {R"({"throttlingPercent":"80%"})", "throttlingPercent '80%' is not", "write a whole number, from 0 to 100"},
      {R"({"throttlingPercent":""})", "throttlingPercent '' is not", "write a whole number, from 0 to 100"},
      {R"({"minLimitPercent":50.5})", "minLimitPercent '50.5' is not a whole number", "write a whole number"},
      {R"({"minLimitPercent":1e1})", "minLimitPercent '1e1' is not a whole number", "write a whole number"},
      {R"({"minLimitPercent":true})", "minLimitPercent 'true' is not a whole number", "write a whole number"},
      {R"({"minLimitPercent":[50]})", "minLimitPercent (a list) is not a whole number", "write a whole number"},
      {R"({"minLimitPercent":-1})", "minLimitPercent '-1' is out of range", "write a whole number, from 0 to 100"},
      {R"({"lowLimitPercent":101})", "lowLimitPercent '101' is out of range", "write a whole number, from 0 to 100"},
      {R"({"wmarkRatio":101})", "wmarkRatio '101' is out of range", "write a whole number, from 0 to 100"},
      {R"({"wmarkScalePermill":0})", "wmarkScalePermill '0' is out of range", "write a whole number, from 1 to 1000"},
      {R"({"wmarkMinAdj":51})", "wmarkMinAdj '51' is out of range", "write a whole number, from -25 to 50"},
      {R"({"oomKillGroup":2})", "oomKillGroup '2' is out of range", "write a whole number, 0 or 1"},
      {R"({"priority":13})", "priority '13' is out of range", "write a whole number, from 0 to 12"},
      {R"({"pageCacheLimitSize":-1})", "pageCacheLimitSize '-1' is out of range", "write a whole number, 0 or more"},
      {R"({"pageCacheLimitSize":99999999999999999999})", "pageCacheLimitSize '99999999999999999999' is out", "write"},
      {R"({"pageCacheLimitSize":1,"pageCacheEnable":1})", "pageCacheLimitSize 1 is less than a page", "write bytes"},
      {R"({"pageCacheLimitPercent":50})", "pageCacheLimitPercent 50 has no effect without", "add \"pageCacheEnable\""},
      {R"({"pageCacheEnable":1})", "pageCacheEnable 1 names no limit", "add pageCacheLimitPercent"},
      {R"({"MinLimitPercent":50})", "memoryQOS has no field 'MinLimitPercent'", "did you mean minLimitPercent?"},
      {R"({"containers":{"nobody":{"minLimitPercent":50}}})", "memoryQOS has no field 'containers'", "use one of"},
      {"{\"\\u001b[2J\":1}", "memoryQOS has no field '\\u001b[2J'", "use one of policy"},
  });
  const PodPlan watermarks = planFor(R"({"wmarkRatio":5,"wmarkScalePermill":50})");
  ASSERT_EQ(watermarks.findings.size(), 1U);
  EXPECT_EQ(watermarks.findings[0].problem, "wmarkScalePermill 50 leaves nothing under wmarkRatio 5");
  EXPECT_EQ(wanted(watermarks, Knob::reclaim), "watermark");
  EXPECT_EQ(wanted(watermarks, Knob::reclaimLow), "-");

  const PodPlan partly = planFor(R"({"policy":"auto","wmarkRatio":101})", "1Gi", "1000Mi");
  EXPECT_EQ(partly.findings.size(), 1U);
  EXPECT_EQ(wanted(partly, Knob::reclaimHigh), text("950Mi")) << "the policy's, as if the field were absent";
}

TEST(Koordinator, WhatNeedsAVendorsKernelIsSaid) {
  const PodPlan plan =
      planFor(R"({"wmarkMinAdj":-25,"priorityEnable":1,"priority":5,"pageCacheReclaimSync":1,"lowLimitPercent":50})");
  ASSERT_EQ(plan.findings.size(), 4U);
  for (const Finding& finding : plan.findings) EXPECT_EQ(finding.reason, Reason::unsupported) << finding.problem;
  EXPECT_EQ(plan.findings[0].problem.substr(0, 50), "wmarkMinAdj -25 is ignored: moving a cgroup's shar");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("512Mi"));
}

TEST(Koordinator, AFloodOfFieldsIsCut) {
  std::string json = "{";
  for (int i = 0; i < 200; ++i) json += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  const PodPlan plan = planFor(json + "}");
  EXPECT_EQ(plan.findings.size(), 65U);
  json = "{";
  for (int i = 0; i < 300; ++i) json += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_EQ(planFor(json + "}").findings.size(), 1U) << "too many values";
}

}  // namespace
}  // namespace memqos::policy
