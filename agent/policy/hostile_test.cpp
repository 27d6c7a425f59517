// A pod's author is not trusted: any number of keys, of any size and content.
#include "base/utf8.h"
#include "policy/plan.h"
#include "policy/testing.h"

namespace memqos::policy {
namespace {

bool isPrintable(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return validUtf8(text) == text;
}

TEST(Hostile, ManyBadKeysDoNotFlood) {
  Annotated annotations;
  for (int i = 0; i < 10'000; ++i) annotations.emplace_back("memqos.io/memory-mi" + std::to_string(i), "1Gi");
  annotations.emplace_back("memqos.io/memory-low", "64Mi");
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", annotations));
  ASSERT_EQ(plan.findings.size(), 65U);
  EXPECT_EQ(plan.findings[0].key, "memqos.io/memory-mi0");
  EXPECT_EQ(plan.findings[64].problem, "this and 9935 more annotations cannot be used");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi")) << "the good one still counts";
}

TEST(Hostile, TheCountStartsWhereItMustNot) {
  for (const std::size_t count : {64U, 65U, 66U}) {
    Annotated annotations;
    for (std::size_t i = 0; i < count; ++i) annotations.emplace_back("memqos.io/x" + std::to_string(i), "1");
    const PodPlan plan = planOf(podOf("1Gi", "2Gi", annotations));
    EXPECT_EQ(plan.findings.size(), std::min<std::size_t>(count, 65));
    EXPECT_EQ(plan.findings.back().problem.find("more annotations") != std::string::npos, count == 66) << count;
  }
}

TEST(Hostile, HugeKeysAndValuesAreCut) {
  const std::string huge(256 * 1024, '7');
  const PodPlan plan = planOf(podOf({container("app", "1Gi", "2Gi")}, {{"memqos.io/memory-min", huge},
                                                                       {"memqos.io/class", huge},
                                                                       {"memqos.io/managed", huge},
                                                                       {"memqos.io/" + huge, "1Gi"},
                                                                       {huge + ".memqos.io/app", "1Gi"},
                                                                       {"memory-min.memqos.io/" + huge, "1Gi"},
                                                                       {huge, "1Gi"},
                                                                       {huge + "/memory-min", "1Gi"},
                                                                       {"memqos.io/memory-high", huge + "%"},
                                                                       {"memqos.io/reclaim", huge}}));
  EXPECT_EQ(plan.findings.size(), 8U);
  for (const Finding& finding : plan.findings) {
    EXPECT_LE(finding.key.size(), 256U);
    EXPECT_LE(finding.value.size(), 256U);
    EXPECT_LE(finding.problem.size() + finding.advice.size(), 2048U);
  }
}

TEST(Hostile, SentencesArePrintable) {
  const std::vector<std::string> nasty = {std::string("a\0b", 3),
                                          "\x1b[2J",
                                          "line\nbreak",
                                          "\xff\xfe\xfd",
                                          "\xc3",
                                          "q\"uote\\",
                                          "\u202egnp.exe",
                                          std::string(63, '\xc3') + "\xa9\xa9"};
  Annotated annotations;
  for (const std::string& text : nasty) {
    annotations.emplace_back("memqos.io/" + text, text);
    annotations.emplace_back("memory-min.memqos.io/" + text, text);
    annotations.emplace_back(text + ".memqos.io/app", text);
    annotations.emplace_back("memory-min.memqo.io/" + text, text);
    annotations.emplace_back("memqos.io/class", text);
    annotations.emplace_back("memqos.io/managed", text);
  }
  Pod pod = podOf({container("app", "1Gi", "2Gi"), container("a\n\x01\xff", "1Gi", "2Gi")}, annotations);
  pod.nameSpace = "a\nb";
  Settings settings;
  settings.guardrails.knobsByNamespace.emplace();
  (*settings.guardrails.knobsByNamespace)["a\nb"] = {Knob::klass};
  const PodPlan plan = planOf(pod, {}, settings);
  EXPECT_GE(plan.findings.size(), 40U);
  for (const Finding& finding : plan.findings) {
    EXPECT_TRUE(isPrintable(finding.problem)) << finding.problem;
    EXPECT_TRUE(isPrintable(finding.advice)) << finding.advice;
  }
}

TEST(Hostile, ManyContainers) {
  std::vector<Container> containers;
  for (int i = 0; i < 2'000; ++i) containers.push_back(container("c" + std::to_string(i), "1Mi", ""));
  Pod pod = podOf(std::move(containers), {{"memqos.io/memory-min", "50%"}, {"memory-low.memqos.io/nobody", "1Gi"}});
  const PodPlan plan = planOf(pod);
  EXPECT_EQ(plan.containers.size(), 2'000U);
  ASSERT_EQ(plan.findings.size(), 1U);
  EXPECT_LE(plan.findings[0].advice.size(), 1024U);
}

TEST(Hostile, ContainersOfOneName) {
  const Pod pod =
      podOf({container("app", "100Mi", ""), container("app", "50Mi", "")}, {{"memory-min.memqos.io/app", "100%"}});
  const PodPlan plan = planOf(pod);
  EXPECT_EQ(wanted(plan, Knob::memoryMin, 0), text("100Mi"));
  EXPECT_EQ(wanted(plan, Knob::memoryMin, 1), text("50Mi"));
}

TEST(Hostile, AbsurdAmountsDoNotOverflow) {
  const std::string most = "9223372036854775806";
  Annotated annotations;
  for (const KnobInfo& knob : knobs()) {
    if (knob.form == Form::quantity) annotations.emplace_back("memqos.io/" + std::string(knob.name), most);
  }
  Pod pod = podOf({container("app", most, most), container("b", most, most), container("c", "1", "1")}, annotations);
  pod.podRequest = bytesOf(most);
  pod.podLimit = bytesOf(most);
  PodFacts facts;
  facts.containers["b"] = {
      .limit = Limit::max(), .foundHigh = Limit::max(), .foundMin = Limit::max(), .foundLow = Limit::max()};
  const PodPlan plan = planOf(pod, facts, {}, {bytesOf(most), kPage});
  for (const ContainerPlan& planned : plan.containers) {
    for (const KnobInfo& knob : knobs()) {
      EXPECT_GE(planned.wantedLimit(knob.knob).value_or(Limit()).bytes().count, 0) << planned.name << knob.name;
    }
  }
  EXPECT_EQ(wanted(plan, Knob::memoryMin, 2), "0");
}

}  // namespace
}  // namespace memqos::policy
