#include "policy/plan.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

KnobTexts texts(const std::map<Knob, std::string>& values) {
  KnobTexts out;
  for (const auto& [knob, value] : values) out.texts[knob] = {value, {3, 5}, "agent.yaml"};
  return out;
}

Settings layered() {
  Settings settings;
  settings.defaults = texts({{Knob::memoryLow, "10Mi"}, {Knob::swapMax, "10Mi"}, {Knob::oomGroup, "true"}});
  settings.classes["gold"] = texts({{Knob::memoryLow, "20Mi"}, {Knob::swapMax, "20Mi"}});
  settings.classes["silver"] = texts({{Knob::memoryLow, "30Mi"}});
  return settings;
}

TEST(Precedence, EachSourceInTurn) {
  struct Row {
    Annotated annotations;
    std::string low;
    std::string origin;
    std::string asked;
  };
  const std::vector<Row> rows = {
      {{}, "10Mi", "default", "10Mi"},
      {{{"memqos.io/class", "gold"}}, "20Mi", "class gold", "20Mi"},
      {{{"memqos.io/class", "gold"}, {"memqos.io/memory-low", "40Mi"}},
       "40Mi",
       "annotation memqos.io/memory-low",
       "40Mi"},
      {{{"memqos.io/memory-low", "40Mi"}, {"memory-low.memqos.io/app", "50Mi"}},
       "50Mi",
       "annotation memory-low.memqos.io/app",
       "50Mi"},
      {{{"memory-low.memqos.io/app", "50MB"}, {"memqos.io/memory-low", "40Mi"}},
       "40Mi",
       "annotation memqos.io/memory-low",
       "40Mi"},
      {{{"memory-low.memqos.io/app", "50MB"}, {"memqos.io/memory-low", "-1"}}, "10Mi", "default", "10Mi"},
      {{{"memqos.io/class", "gold"}, {"class.memqos.io/app", "silver"}}, "30Mi", "class silver", "30Mi"},
      {{{"memqos.io/class", "gold"}, {"class.memqos.io/app", "slvr-x"}}, "20Mi", "class gold", "20Mi"},
      {{{"memory-low.memqos.io/other", "50Mi"}}, "10Mi", "default", "10Mi"},
  };
  for (const Row& row : rows) {
    const Pod pod = podOf({container("app", "1Gi", "2Gi"), container("other", "1Gi", "2Gi")}, row.annotations);
    const KnobPlan low = planOf(pod, {}, layered()).containers.at(0).at(Knob::memoryLow);
    EXPECT_EQ(toText(*low.wanted), text(row.low)) << row.origin;
    EXPECT_EQ(toText(low.origin), row.origin);
    EXPECT_EQ(low.asked, row.asked);
  }
}

TEST(Precedence, KnobsResolveAlone) {
  const PodPlan plan =
      planOf(podOf("1Gi", "2Gi", {{"memqos.io/class", "gold"}, {"memqos.io/memory-low", "0"}}), {}, layered());
  EXPECT_EQ(wanted(plan, Knob::memoryLow), "0") << "0 is a value, not the absence of one";
  EXPECT_EQ(wanted(plan, Knob::swapMax), text("20Mi"));
  EXPECT_EQ(wanted(plan, Knob::oomGroup), "true");
  EXPECT_EQ(wanted(plan, Knob::klass), "gold");
  EXPECT_EQ(wanted(plan, Knob::memoryMin), "-");
  EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryMin).origin), "none");
  EXPECT_EQ(plan.containers[0].at(Knob::memoryMin).asked, std::nullopt);
}

TEST(Precedence, ADefaultMayNameTheClass) {
  Settings settings = layered();
  settings.defaults.texts[Knob::klass] = {"silver", {}, ""};
  settings.classes["silver"].texts[Knob::klass] = {"gold", {}, ""};  // means nothing inside a class
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", {}), {}, settings);
  EXPECT_EQ(wanted(plan, Knob::klass), "silver");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("30Mi"));
  EXPECT_EQ(wanted(plan, Knob::swapMax), text("10Mi"));
}

TEST(Precedence, AClassIsNotMadeOfClasses) {
  Settings settings = layered();
  settings.classes["gold"].texts[Knob::klass] = {"silver", {}, ""};
  settings.classes["gold"].texts.erase(Knob::memoryLow);
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", {{"memqos.io/class", "gold"}}), {}, settings);
  EXPECT_EQ(wanted(plan, Knob::klass), "gold");
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("10Mi"));
}

TEST(Precedence, BadTextsOfTheConfigurationAreAsIfAbsent) {
  Settings settings = layered();
  settings.classes["gold"].texts[Knob::memoryLow] = {"20MB", {4, 9}, "agent.yaml"};
  settings.defaults.texts[Knob::klass] = {"platinum", {}, "agent.yaml"};
  const Pod pod = podOf({container("app", "1Gi", ""), container("other", "1Gi", "")}, {{"memqos.io/class", "gold"}});
  const PodPlan plan = planOf(pod, {}, settings);
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("10Mi"));
  ASSERT_EQ(summaries(plan), (std::vector<std::string>{"InvalidConfiguration defaults.class",
                                                       "InvalidConfiguration classes.gold.memoryLow"}));
  EXPECT_EQ(plan.findings[1].source.file, "agent.yaml");
  EXPECT_EQ(plan.findings[1].source.position, (document::Position{4, 9}));
}

TEST(Plan, PodWideKeysAreEachContainersDefault) {
  const Pod pod =
      podOf({container("setup", "1Gi", "", ContainerKind::init), container("mesh", "1Gi", "", ContainerKind::sidecar),
             container("app", "1Gi", ""), container("shell", "", "", ContainerKind::ephemeral)},
            {{"memqos.io/memory-low", "64Mi"}, {"memqos.io/oom-group", "false"}});
  const PodPlan plan = planOf(pod);
  ASSERT_EQ(plan.containers.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(wanted(plan, Knob::memoryLow, i), text("64Mi")) << i;
  EXPECT_EQ(wanted(plan, Knob::memoryLow, 3), "0") << "an ephemeral container has no request to protect";
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(wanted(plan, Knob::oomGroup, i), "false") << i;
  EXPECT_EQ(plan.containers[1].kind, ContainerKind::sidecar);
  EXPECT_EQ(plan.containers[2].name, "app");
}

TEST(Plan, NothingAskedIsEmpty) {
  const std::vector<std::pair<Annotated, bool>> rows = {
      {{}, true},
      {{{"memqos.io/class", "gold"}}, true},
      {{{"memqos.io/reclaim", "off"}, {"memqos.io/dirty-limit", "off"}, {"memqos.io/charge-migration", "off"}}, true},
      {{{"memqos.io/reclaim-high", "80%"}, {"memqos.io/dirty-throttle", "squeeze"}}, true},
      {{{"memqos.io/memory-min", "64MB"}}, true},
      {{{"memqos.io/memory-min", "0"}}, false},
      {{{"memqos.io/memory-high", "max"}}, false},
      {{{"memqos.io/oom-group", "false"}}, false},
      {{{"memqos.io/reclaim", "auto"}}, false},
      {{{"memqos.io/page-cache-limit", "64Mi"}}, false},
      {{{"memqos.io/dirty-background", "64Mi"}}, false},
      {{{"memqos.io/charge-migration", "file"}}, false},
  };
  Settings settings;
  settings.classes["gold"] = {};
  for (const auto& [annotations, empty] : rows) {
    EXPECT_EQ(planOf(podOf("1Gi", "2Gi", annotations), {}, settings).empty(), empty)
        << (annotations.empty() ? "nothing" : annotations[0].first);
  }
  EXPECT_TRUE(planOf(podOf(std::vector<Container>{})).empty());
}

TEST(Plan, PercentagesAreTakenOfWhatTheKernelHas) {
  struct Row {
    std::string knob;
    std::string text;
    std::string wanted;
  };
  const std::vector<Row> rows = {{"memory-min", "50%", "100Mi"},   {"memory-low", "100%", "200Mi"},
                                 {"memory-high", "50%", "512Mi"},  {"swap-max", "25%", "256Mi"},
                                 {"swap-high", "0%", "0"},         {"zswap-max", "12.5%", "128Mi"},
                                 {"reclaim-high", "50%", "512Mi"}, {"page-cache-limit", "25%", "256Mi"},
                                 {"dirty-limit", "6.25%", "64Mi"}, {"dirty-background", "100%", "1Gi"}};
  ContainerFacts facts;
  facts.limit = mebibytes(1024);
  facts.allocatedRequest = mebibytes(200);
  for (const Row& row : rows) {
    const PodPlan plan = planOf(podOf("96Mi", "4Gi", {{"memqos.io/" + row.knob, row.text}}), factsOf(facts));
    EXPECT_EQ(wanted(plan, *findKnob(row.knob)), text(row.wanted)) << row.knob;
    EXPECT_EQ(plan.containers[0].limit, Limit(mebibytes(1024)));
    EXPECT_EQ(plan.containers[0].request, mebibytes(200));
    EXPECT_TRUE(plan.findings.empty()) << row.knob;
  }
}

TEST(Plan, FractionsRoundUpToAByteThenDownToAPage) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"129e6", "128999424"}, {"4097", "4096"}, {"8191.5", "8192"}, {"8190.5", "4096"}};
  for (const auto& [asked, pages] : rows) {
    const PodPlan plan = planOf(podOf("1Gi", "2Gi", {{"memqos.io/swap-max", asked}}));
    EXPECT_EQ(wanted(plan, Knob::swapMax), pages) << asked;
    EXPECT_TRUE(plan.findings.empty()) << asked;
  }
  // 50% of 8191 bytes is 4095.5: up to 4096, a whole page.
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", {{"memqos.io/swap-max", "50%"}}), factsOf({.limit = Bytes{8191}}));
  EXPECT_EQ(wanted(plan, Knob::swapMax), "4096");
  const PodPlan large =
      planOf(podOf("1Gi", "", {{"memqos.io/swap-max", "100Ki"}}), {}, {}, {mebibytes(1024), Bytes{65536}});
  EXPECT_EQ(wanted(large, Knob::swapMax), "65536") << "the node's page counts";
}

TEST(Plan, WithoutLimitAndNodeAPercentageHasNoValue) {
  const Annotated annotations = {{"memqos.io/swap-max", "50%"},
                                 {"memqos.io/memory-high", "auto"},
                                 {"memqos.io/reclaim", "auto"},
                                 {"memqos.io/reclaim-high", "80%"},
                                 {"memqos.io/memory-low", "50%"}};
  const PodPlan plan = planOf(podOf("1Gi", "", annotations), {}, {}, {Bytes{}, kPage});
  for (const Knob knob : {Knob::swapMax, Knob::memoryHigh, Knob::reclaimHigh}) {
    EXPECT_EQ(wanted(plan, knob), "-") << info(knob).name;
    EXPECT_NE(plan.containers[0].at(knob).why, "") << info(knob).name;
  }
  EXPECT_EQ(wanted(plan, Knob::memoryLow), text("512Mi"));
  EXPECT_TRUE(plan.containers[0].limit.isMax());
  EXPECT_TRUE(plan.findings.empty());
}

TEST(Plan, OriginOfWhatWasFound) {
  ContainerFacts facts;
  facts.foundHigh = mebibytes(512);
  facts.foundMin = Limit();
  facts.foundSwapMax = Limit();
  Settings standalone;
  standalone.cgroupKeysAllowed = true;
  const PodPlan plan = planOf(podOf("1Gi", "2Gi", {}), factsOf(facts));
  EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryHigh).origin), "kubelet");
  EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryMin).origin), "baseline");
  EXPECT_EQ(toText(plan.containers[0].at(Knob::swapMax).origin), "kubelet");
  EXPECT_EQ(toText(plan.containers[0].at(Knob::memoryLow).origin), "none");
  EXPECT_TRUE(plan.empty());
  const PodPlan alone = planOf(podOf("1Gi", "2Gi", {}), factsOf(facts), standalone);
  EXPECT_EQ(toText(alone.containers[0].at(Knob::memoryHigh).origin), "baseline") << "there is no kubelet";
}

TEST(Plan, NumbersAndWordsOfAContainer) {
  const PodPlan plan = planOf(podOf("1Gi", "2Gi",
                                    {{"memqos.io/oom-group", "true"},
                                     {"memqos.io/zswap-writeback", "false"},
                                     {"memqos.io/dirty-limit", "off"},
                                     {"memqos.io/reclaim", "pressure"}}));
  const ContainerPlan& app = plan.containers[0];
  EXPECT_EQ(app.wantedLimit(Knob::oomGroup), Limit(Bytes{1}));
  EXPECT_EQ(app.wantedLimit(Knob::zswapWriteback), Limit());
  EXPECT_EQ(app.wantedLimit(Knob::dirtyLimit), std::nullopt);
  EXPECT_EQ(app.wantedLimit(Knob::memoryMin), std::nullopt);
  EXPECT_EQ(app.word(Knob::dirtyLimit), "off");
  EXPECT_EQ(app.word(Knob::reclaim), "pressure");
  EXPECT_EQ(app.word(Knob::dirtyThrottle), "auto") << "the built-in default";
  EXPECT_EQ(app.word(Knob::memoryHigh), "");
}

// kubernetes#117793: people run DaemonSets to undo oom.group.
TEST(Plan, OomGroupCanBeTakenBack) {
  const PodPlan plan = planOf(podOf("1Gi", "1Gi", {{"memqos.io/oom-group", "false"}}));
  EXPECT_EQ(plan.containers[0].wantedLimit(Knob::oomGroup), Limit());
  EXPECT_TRUE(plan.findings.empty());
}

TEST(Plan, OriginsAsText) {
  using Kind = Origin::Kind;
  EXPECT_EQ(toText(Origin{Kind::annotation, "memqos.io/class"}), "annotation memqos.io/class");
  EXPECT_EQ(toText(Origin{Kind::policy, "gold"}), "policy gold");
  EXPECT_EQ(toText(Origin{Kind::klass, "gold"}), "class gold");
  EXPECT_EQ(toText(Origin{Kind::configuredDefault, ""}), "default");
  EXPECT_EQ(toText(Origin{Kind::kubelet, ""}), "kubelet");
  EXPECT_EQ(toText(Origin{Kind::baseline, ""}), "baseline");
  EXPECT_EQ(toText(Origin{}), "none");
  EXPECT_EQ(toText(KnobValue(true)), "true");
  EXPECT_EQ(toText(KnobValue(Limit::max())), "max");
  EXPECT_EQ(toText(KnobValue(std::string("auto"))), "auto");
}

}  // namespace
}  // namespace memqos::policy
