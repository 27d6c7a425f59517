#include "policy/annotations.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

struct BadRow {
  std::string key;
  std::string value;
  std::string container;
  std::string problem;
  std::string advice;
};

Pod podWith(const std::string& key, const std::string& value) {
  return podOf({container("app", "1Gi", "2Gi"), container("proxy", "100Mi", "200Mi")}, {{key, value}});
}

void expectBad(const std::vector<BadRow>& rows, const Settings& settings) {
  for (const BadRow& row : rows) {
    const PodPlan plan = planOf(podWith(row.key, row.value), {}, settings);
    ASSERT_EQ(plan.findings.size(), 1U) << row.key;
    const Finding& finding = plan.findings[0];
    EXPECT_EQ(finding.reason, Reason::invalidAnnotation) << row.key;
    EXPECT_EQ(finding.key, row.key);
    EXPECT_EQ(finding.value, row.value) << row.key;
    EXPECT_EQ(finding.container, row.container) << row.key;
    EXPECT_EQ(finding.problem, row.problem) << row.key;
    EXPECT_EQ(finding.advice, row.advice) << row.key;
    EXPECT_TRUE(plan.managed) << row.key;
    EXPECT_TRUE(plan.empty()) << row.key;
  }
}

TEST(Annotations, WhatCannotBeUsedIsSaid) {
  Settings settings;
  settings.classes["gold"] = {};
  settings.classes["silver"] = {};
  const std::string allKnobs =
      "the knobs are class, memory-min, memory-low, memory-high, swap-max, swap-high, zswap-max, zswap-writeback, "
      "oom-group, "
      "reclaim, reclaim-high, reclaim-low, page-cache-limit, dirty-limit, dirty-background, dirty-throttle, "
      "charge-migration, "
      "managed";
  expectBad(
      {
          {"memqos.io/memory-mni", "1Gi", "", "memqos has no knob 'memory-mni'", "did you mean memqos.io/memory-min?"},
          {"memory-mni.memqos.io/app", "1Gi", "app", "memqos has no knob 'memory-mni'",
           "did you mean memory-min.memqos.io/app?"},
          {"memqos.io/memoryMin", "1Gi", "", "memqos has no knob 'memoryMin'", "did you mean memqos.io/memory-min?"},
          {"memqos.io/memory.swap.max", "1Gi", "", "memqos has no knob 'memory.swap.max'",
           "did you mean memqos.io/swap-max?"},
          {"memqos.io/", "1Gi", "", "memqos has no knob ''", allKnobs},
          {"memqos.io/colour", "red", "", "memqos has no knob 'colour'", allKnobs},
          {"memqos.io/mangaed", "false", "", "memqos has no knob 'mangaed'", "did you mean memqos.io/managed?"},
          // Kubernetes lower-cases a key before it validates it, so this one is admitted.
          {"Memory-High.memqos.io/app", "1Gi", "app", "memqos has no knob 'Memory-High'",
           "did you mean memory-high.memqos.io/app?"},
          {"memqos.io/memory-min.app", "1Gi", "", "memqos has no knob 'memory-min.app'",
           "did you mean memory-min.memqos.io/app?"},
          {"app.memqos.io/memory-min", "1Gi", "", "the pod has no container 'memory-min'",
           "did you mean memory-min.memqos.io/app?"},
          {"memory-min.memqos.io/prxoy", "1Gi", "", "the pod has no container 'prxoy'", "did you mean proxy?"},
          {"memory-min.memqos.io/", "1Gi", "", "the pod has no container ''", "use one of app, proxy"},
          {"memory-min.memqos.io/database", "1Gi", "", "the pod has no container 'database'", "use one of app, proxy"},
          {"memqo.io/memory-min", "1Gi", "", "the key is none of memqos", "write memqos.io/memory-min"},
          {"memqos.io/managed", "no", "", "'no' is neither true nor false",
           "write true or false; the pod is managed until it says false"},
          {"managed.memqos.io/app", "false", "app", "a pod can only be opted out as a whole",
           "write memqos.io/managed"},
          {"memqos.io/memory-min", "64MB", "", "'64MB' is not a quantity of bytes", "write 64M or 64Mi"},
          {"reclaim.memqos.io/app", "on", "app", "'on' is not a value of reclaim",
           "write off, watermark, pressure or auto"},
          {"memqos.io/class", "glod", "", "the agent's configuration has no class 'glod'", "did you mean gold?"},
          {"class.memqos.io/app", "bronze", "app", "the agent's configuration has no class 'bronze'",
           "use one of gold, silver"},
          {"memqos.io/cgroup", "a/b", "", "a cgroup may only be named in the manifests of a standalone agent (--pods)",
           "remove it; in a cluster the kubelet's cgroup is found by itself"},
          {"cgroup.memqos.io/app", "a/b", "app",
           "a cgroup may only be named in the manifests of a standalone agent (--pods)",
           "remove it; in a cluster the kubelet's cgroup is found by itself"},
      },
      settings);
}

TEST(Annotations, WithoutClassesThereIsNoneToSuggest) {
  expectBad({{"memqos.io/class", "gold", "", "the agent's configuration has no class 'gold'",
              "remove it, or add the class to the configuration"}},
            {});
}

TEST(Annotations, OthersKeysAreNobodysBusiness) {
  for (const std::string key :
       {"kubernetes.io/config.hash", "koordinator.sh/memoryQOS", "class", "example.com/memory-min"}) {
    EXPECT_TRUE(planOf(podWith(key, "64MB")).findings.empty()) << key;
  }
}

TEST(Annotations, FindingsSayWhere) {
  const PodPlan plan = planOf(podWith("memqos.io/memory-min", "64MB"));
  ASSERT_EQ(plan.findings.size(), 1U);
  const Finding& finding = plan.findings[0];
  EXPECT_EQ(finding.nameSpace, "shop");
  EXPECT_EQ(finding.pod, "web-0");
  EXPECT_EQ(finding.uid, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(finding.source.file, "pod.yaml");
  EXPECT_EQ(finding.source.kind, "Pod");
  EXPECT_EQ(finding.source.position, (document::Position{10, 7}));
}

TEST(Annotations, OneBadKeyLeavesTheRest) {
  const PodPlan plan =
      planOf(podOf("1Gi", "2Gi", {{"memqos.io/memory-min", "64MB"}, {"memqos.io/memory-low", "64Mi"}}));
  EXPECT_EQ(wanted(plan, Knob::memoryMin), "-");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi"));
  EXPECT_EQ(summaries(plan), std::vector<std::string>{"InvalidAnnotation memqos.io/memory-min"});
}

// runc#2830: an unknown file in a runtime's map kept the container from starting. Here it is named, and the rest works.
TEST(Annotations, FilesThatAreNoKnobsAreNamedAndTheRestWorks) {
  for (const std::string file :
       {"memory.foo", "memory.max", "memory.reservation", "memory.stat", "cpu.max", "memory.high", "cgroup.kill"}) {
    for (const std::string& key : {"memqos.io/" + file, file + ".memqos.io/app"}) {
      const PodPlan plan = planOf(podOf("1Gi", "2Gi", {{key, "64Mi"}, {"memqos.io/memory-low", "64Mi"}}));
      ASSERT_EQ(plan.findings.size(), 1U) << key;
      EXPECT_EQ(plan.findings[0].reason, Reason::invalidAnnotation) << key;
      EXPECT_EQ(plan.findings[0].key, key);
      for (const KnobInfo& knob : knobs())
        EXPECT_EQ(wanted(plan, knob.knob), knob.knob == Knob::memoryLow ? text("64Mi") : "-") << key << knob.name;
    }
  }
}

TEST(Annotations, OptingOutIsComplete) {
  Settings settings;
  settings.defaults.texts[Knob::memoryMin] = {"64Mi", {}, ""};
  const Annotated annotations = {
      {"memory-low.memqos.io/app", "64MB"}, {"memqos.io/managed", "false"}, {"memqos.io/x", "1"}};
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", annotations), {}, settings);
  EXPECT_FALSE(plan.managed);
  EXPECT_TRUE(plan.containers.empty());
  EXPECT_TRUE(plan.findings.empty());
  EXPECT_TRUE(plan.empty());

  const PodPlan managed = planOf(podOf("1Gi", "2Gi", {{"memqos.io/managed", "true"}}), {}, settings);
  EXPECT_TRUE(managed.managed);
  EXPECT_TRUE(managed.findings.empty());
  EXPECT_EQ(wanted(managed, Knob::memoryMin), text("64Mi"));
}

TEST(Annotations, NamespacesMayBeKeptFromKnobs) {
  Settings settings;
  settings.guardrails.knobsByNamespace.emplace();
  (*settings.guardrails.knobsByNamespace)["shop"] = {Knob::memoryLow, Knob::klass};
  settings.classes["gold"].texts[Knob::memoryMin] = {"32Mi", {}, "agent.yaml"};
  const Annotated annotations = {
      {"memqos.io/memory-min", "64Mi"}, {"memqos.io/memory-low", "64Mi"}, {"memqos.io/class", "gold"}};
  Pod pod = podOf("1Gi", "2Gi", annotations);
  const PodPlan plan = planOf(pod, {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryMin), text("32Mi")) << "what the operator put into a class is not the author's";
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("64Mi"));
  ASSERT_EQ(summaries(plan), std::vector<std::string>{"InvalidAnnotation memqos.io/memory-min"});
  EXPECT_EQ(plan.findings[0].problem, "pods of namespace 'shop' may not use memory-min");

  pod.nameSpace = "bank";  // not listed: everything
  EXPECT_EQ(wanted(planOf(pod, {}, settings), Knob::memoryMin), text("64Mi"));
}

TEST(Annotations, CgroupKeysOfStandalonePods) {
  Settings settings;
  settings.cgroupKeysAllowed = true;
  const Pod pod = podOf({container("app", "", "")}, {{"memqos.io/cgroup", "machine.slice/pod"},
                                                     {"cgroup.memqos.io/app", ""},
                                                     {"cgroup.memqos.io/absent", "x"},
                                                     {"memqos.io/memory-min", "0"}});
  const PodPlan plan = planOf(pod, {}, settings);
  EXPECT_EQ(summaries(plan), (std::vector<std::string>{"InvalidAnnotation cgroup.memqos.io/app app",
                                                       "InvalidAnnotation cgroup.memqos.io/absent"}));
  const CgroupKeys keys = cgroupKeys(pod);
  ASSERT_TRUE(keys.pod);
  EXPECT_EQ(keys.pod->value, "machine.slice/pod");
  EXPECT_EQ(keys.pod->position, (document::Position{10, 7}));
  ASSERT_EQ(keys.containers.size(), 2U);
  EXPECT_EQ(keys.containers.at("absent").value, "x");
  EXPECT_FALSE(cgroupKeys(podOf("", "", {{"memqos.io/memory-min", "0"}})).pod);
}

}  // namespace
}  // namespace memqos::policy
