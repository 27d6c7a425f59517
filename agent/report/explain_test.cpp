#include "report/explain.h"

#include <gtest/gtest.h>

#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;
using policy::Knob;
using policy::Origin;

policy::KnobPlan asked(std::string text, policy::KnobValue wanted, std::string key) {
  return {.asked = std::move(text),
          .wanted = std::move(wanted),
          .origin = {Origin::Kind::annotation, std::move(key)},
          .why = ""};
}

// One container that asks for 64Mi of min, max of high, oom-group, and background reclaim.
policy::PodPlan samplePlan() {
  policy::PodPlan plan;
  plan.nameSpace = "shop";
  plan.name = "web";
  plan.uid = "u-1";
  policy::ContainerPlan container;
  container.name = "app";
  container.at(Knob::memoryMin) = asked("64Mi", Limit(mebibytes(64)), "memqos.io/memory-min");
  container.at(Knob::memoryHigh) = asked("100%", Limit::max(), "memory-high.memqos.io/app");
  container.at(Knob::memoryHigh).why = "at the limit";
  container.at(Knob::oomGroup) = asked("true", true, "memqos.io/oom-group");
  container.at(Knob::reclaim) = asked("auto", std::string("auto"), "memqos.io/reclaim");
  plan.containers.push_back(container);
  return plan;
}

PodState sampleState() {
  PodState state;
  state.plan = samplePlan();
  ContainerState container;
  container.name = "app";
  container.cgroup = "kubepods.slice/pod.slice/app.scope";
  auto& min = container.at(cgroup::File::memoryMin);
  min.wanted = min.current = Limit(mebibytes(64));
  min.effective = Limit(mebibytes(16));
  min.why = "kubepods.slice has memory.min 16Mi";
  auto& high = container.at(cgroup::File::memoryHigh);
  high.wanted = high.current = high.effective = Limit::max();
  auto& swap = container.at(cgroup::File::swapMax);
  swap.current = swap.effective = Limit(Bytes{0});
  auto& group = container.at(cgroup::File::oomGroup);
  group.wanted = group.current = group.effective = Limit(Bytes{1});
  state.containers.push_back(container);
  return state;
}

const Node& row(const Node& pod, Knob knob) {
  return itemsOf(itemsOf(pod, "containers").front(), "knobs")[static_cast<std::size_t>(knob)];
}

TEST(Explain, AFileHasEveryKnobAndNothingOfANode) {
  const Node pod = explainPod(samplePlan());
  EXPECT_EQ(field(pod, "namespace"), "shop");
  EXPECT_EQ(field(pod, "pod"), "web");
  EXPECT_TRUE(pod.find("uid")->isNull());
  EXPECT_EQ(field(pod, "managed"), "true");
  const auto& containers = itemsOf(pod, "containers");
  ASSERT_EQ(containers.size(), 1U);
  EXPECT_TRUE(containers[0].find("cgroup")->isNull());
  ASSERT_EQ(itemsOf(containers[0], "knobs").size(), policy::kKnobCount);
  EXPECT_EQ(document::dumpJson(row(pod, Knob::memoryMin)),
            R"({"knob":"memory-min","asked":"64Mi","wanted":67108864,"origin":"annotation memqos.io/memory-min",)"
            R"("file":"memory.min","why":""})");
  EXPECT_EQ(document::dumpJson(row(pod, Knob::swapMax)),
            R"({"knob":"swap-max","asked":null,"wanted":null,"origin":"none","file":"memory.swap.max","why":""})");
  EXPECT_EQ(
      document::dumpJson(row(pod, Knob::reclaim)),
      R"({"knob":"reclaim","asked":"auto","wanted":"auto","origin":"annotation memqos.io/reclaim","file":null,"why":""})");
}

TEST(Explain, APodHasWhatTheKernelHas) {
  const Node pod = explainPod(sampleState());
  EXPECT_EQ(field(pod, "uid"), "u-1");
  EXPECT_EQ(field(itemsOf(pod, "containers")[0], "cgroup"), "kubepods.slice/pod.slice/app.scope");
  EXPECT_EQ(document::dumpJson(row(pod, Knob::memoryMin)),
            R"({"knob":"memory-min","asked":"64Mi","wanted":67108864,"origin":"annotation memqos.io/memory-min",)"
            R"("file":"memory.min","current":67108864,"effective":16777216,"takesEffect":false,)"
            R"("why":"kubepods.slice has memory.min 16Mi"})");
  EXPECT_EQ(document::dumpJson(row(pod, Knob::memoryHigh)),
            R"({"knob":"memory-high","asked":"100%","wanted":"max","origin":"annotation memory-high.memqos.io/app",)"
            R"("file":"memory.high","current":"max","effective":"max","takesEffect":true,"why":"at the limit"})");
  EXPECT_EQ(document::dumpJson(row(pod, Knob::oomGroup)),
            R"({"knob":"oom-group","asked":"true","wanted":true,"origin":"annotation memqos.io/oom-group",)"
            R"("file":"memory.oom.group","current":true,"effective":true,"takesEffect":true,"why":""})");
}

TEST(Explain, WhatNobodyAsksForIsTheBaseline) {
  const Node swap = row(explainPod(sampleState()), Knob::swapMax);
  EXPECT_EQ(field(swap, "origin"), "baseline");
  EXPECT_EQ(field(swap, "current"), "0");
  EXPECT_TRUE(swap.find("takesEffect")->isNull());
}

TEST(Explain, EngineKnobsSayThatNothingActsOnThem) {
  PodState state = sampleState();
  const Node on = row(explainPod(state), Knob::reclaim);
  EXPECT_EQ(field(on, "takesEffect"), "false");
  EXPECT_NE(field(on, "why"), "");
  EXPECT_TRUE(on.find("effective")->isNull());
  state.plan.containers[0].at(Knob::reclaim) = asked("off", std::string("off"), "memqos.io/reclaim");
  EXPECT_EQ(field(row(explainPod(state), Knob::reclaim), "takesEffect"), "true");
  state.plan.containers[0].at(Knob::klass) = asked("gold", std::string("gold"), "memqos.io/class");
  EXPECT_EQ(field(row(explainPod(state), Knob::klass), "takesEffect"), "true");
}

TEST(Explain, BackgroundReclaimSaysWhatItDoesOrWhyNot) {
  PodState state = sampleState();
  const auto shown = [&](const char* key) { return field(row(explainPod(state), Knob::reclaim), key); };
  EXPECT_EQ(shown("takesEffect"), "false");
  EXPECT_EQ(shown("why"), "nothing starts it: reclaim is off");
  state.containers[0].reclaim.emplace();
  state.containers[0].reclaim->state = "idle";
  state.containers[0].reclaim->marks = {{"start", mebibytes(48)}, {"stop", mebibytes(47)}};
  EXPECT_EQ(shown("takesEffect"), "true");
  EXPECT_EQ(shown("why"), "idle; starts above 48Mi, stops at 47Mi");
  state.containers[0].reclaim->why = "nothing can be taken";
  EXPECT_EQ(shown("takesEffect"), "false");
  EXPECT_EQ(shown("why"), "nothing can be taken");
  EXPECT_EQ(field(row(explainPod(state, true), Knob::reclaim), "takesEffect"), "false") << "everything was restored";
}

TEST(Explain, WithoutACgroupNothingTakesEffect) {
  PodState state = sampleState();
  state.containers.clear();
  const Node min = row(explainPod(state), Knob::memoryMin);
  EXPECT_EQ(field(min, "takesEffect"), "false");
  EXPECT_TRUE(min.find("current")->isNull());
  EXPECT_EQ(field(min, "why"), "the container has no cgroup yet");
}

TEST(Explain, AfterARestoreItSaysThatNothingIsWritten) {
  Snapshot snapshot;
  snapshot.suspended = true;
  snapshot.pods.push_back(sampleState());
  const Node pod = itemsOf(*explainBody(snapshot, "shop/web"), "pods").front();
  EXPECT_NE(field(row(pod, Knob::memoryMin), "why").find("restored"), std::string::npos);
  EXPECT_EQ(field(row(pod, Knob::oomGroup), "why"), "");  // it happens to have the value
}

TEST(Explain, NotesSayHowAValueHolds) {
  PodState state = sampleState();
  state.containers[0].at(cgroup::File::oomGroup).note = "held otherwise";
  const Node group = row(explainPod(state), Knob::oomGroup);
  EXPECT_EQ(field(group, "takesEffect"), "true");
  EXPECT_EQ(field(group, "why"), "held otherwise");
}

TEST(Explain, FindingsAreThere) {
  PodState state = sampleState();
  policy::Finding finding;
  finding.key = "memqos.io/memory-mni";
  state.plan.findings.push_back(finding);
  EXPECT_EQ(field(itemsOf(explainPod(state), "findings").at(0), "key"), "memqos.io/memory-mni");
}

TEST(Explain, APodOfASnapshotIsFoundByItsFullName) {
  Snapshot snapshot;
  snapshot.pods.push_back(sampleState());
  ASSERT_TRUE(explainBody(snapshot, "shop/web"));
  EXPECT_EQ(itemsOf(*explainBody(snapshot, "shop/web"), "pods").size(), 1U);
  EXPECT_FALSE(explainBody(snapshot, "web"));
  EXPECT_FALSE(explainBody(snapshot, "default/web"));
}

TEST(ExplainText, AFileShowsWhatIsAskedFor) {
  EXPECT_EQ(explainText(explainBody({explainPod(samplePlan())}), false),
            "pod shop/web\n"
            "  container app\n"
            "    KNOB         FILE              ASKED  WANTED  ORIGIN                                WHY\n"
            "    memory-min   memory.min        64Mi   64Mi    annotation memqos.io/memory-min\n"
            "    memory-high  memory.high       100%   max     annotation memory-high.memqos.io/app  at the limit\n"
            "    oom-group    memory.oom.group  true   true    annotation memqos.io/oom-group\n"
            "    reclaim      -                 auto   auto    annotation memqos.io/reclaim\n");
}

TEST(ExplainText, APodAlsoShowsWhatIsNotTheKernelsDefault) {
  const std::string text = explainText(explainBody({explainPod(sampleState())}), false);
  EXPECT_NE(text.find("pod shop/web, uid u-1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  container app, cgroup kubepods.slice/pod.slice/app.scope\n"), std::string::npos) << text;
  EXPECT_NE(text.find("swap-max "), std::string::npos) << text;
  EXPECT_EQ(text.find("swap-high "), std::string::npos) << text;
  EXPECT_NE(explainText(explainBody({explainPod(sampleState())}), true).find("swap-high "), std::string::npos);
}

TEST(ExplainText, PodsThatAskForNothing) {
  policy::PodPlan plan;
  plan.nameSpace = "a";
  plan.name = "b";
  plan.containers.emplace_back().name = "c";
  EXPECT_EQ(explainText(explainBody({explainPod(plan)}), false), "pod a/b\n  container c: nothing is asked for\n");
  plan.containers.clear();
  plan.managed = false;
  EXPECT_EQ(explainText(explainBody({explainPod(plan)}), false),
            "pod a/b: not managed (memqos.io/managed: \"false\")\n");
}

TEST(ExplainText, ABodyOfAnotherVersionDoesNotHurt) {
  Node pod = Node::map();
  pod.set("containers", Node::list({Node::string("x"), Node::map()}));
  EXPECT_NE(explainText(explainBody({pod, Node::null()}), true), "");
  EXPECT_EQ(explainText(Node::null(), true), "");
}

}  // namespace
}  // namespace memqos::report
