#include "metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "metrics/families.h"

namespace memqos::metrics {
namespace {

using cgroup::File;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines(const std::string& page) {
  std::vector<std::string> out;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

report::ContainerState programmed(const std::string& name) {
  report::ContainerState container;
  container.name = name;
  container.cgroup = "pods/" + name;
  auto& min = container.at(File::memoryMin);
  min.wanted = min.current = Limit(mebibytes(64));
  min.effective = Limit(mebibytes(16));
  auto& high = container.at(File::memoryHigh);
  high.wanted = high.current = high.effective = Limit::max();
  auto& group = container.at(File::oomGroup);
  group.wanted = group.current = Limit(Bytes{1});
  container.usage = Bytes{123456789};
  container.events = {{"high", 7}, {"oom_kill", 0}};
  container.pressureSome = std::chrono::microseconds(1'500'000);
  container.throttleEscapes = 2;
  container.lowValveOpen = true;
  return container;
}

report::PodState podOf(const std::string& name, std::vector<report::ContainerState> containers) {
  report::PodState pod;
  pod.plan.nameSpace = "shop";
  pod.plan.name = name;
  pod.containers = std::move(containers);
  return pod;
}

std::string render(Exposition& exposition, report::Snapshot snapshot) {
  return exposition.text(std::make_shared<const report::Snapshot>(std::move(snapshot)));
}

TEST(Exposition, ContainerSeries) {
  report::Snapshot snapshot;
  snapshot.pods.push_back(podOf("web", {programmed("app")}));
  Exposition exposition;
  const auto page = lines(render(exposition, snapshot));
  const std::string who = R"({namespace="shop",pod="web",container="app")";
  for (const std::string& line : {
           "memqos_control_wanted_bytes" + who + R"(,file="memory.min"} 67108864)",
           "memqos_control_applied_bytes" + who + R"(,file="memory.min"} 67108864)",
           "memqos_control_wanted_bytes" + who + R"(,file="memory.high"} +Inf)",
           "memqos_control_applied_bytes" + who + R"(,file="memory.high"} +Inf)",
           "memqos_control_wanted_enabled" + who + R"(,file="memory.oom.group"} 1)",
           "memqos_control_applied_enabled" + who + R"(,file="memory.oom.group"} 1)",
           "memqos_protection_effective_bytes" + who + R"(,file="memory.min"} 16777216)",
           "memqos_usage_bytes" + who + "} 123456789",
           "memqos_memory_events_total" + who + R"(,event="high"} 7)",
           "memqos_memory_events_total" + who + R"(,event="oom_kill"} 0)",
           "memqos_pressure_some_seconds_total" + who + "} 1.5",
           "memqos_throttle_escapes_total" + who + "} 2",
           "memqos_low_valve_open" + who + "} 1",
       }) {
    EXPECT_THAT(page, Contains(line));
  }
  // memory.high is a throttle, not a protection.
  EXPECT_THAT(page, Not(Contains(StartsWith("memqos_protection_effective_bytes" + who + R"(,file="memory.high")"))));
}

TEST(Exposition, ReclaimSeries) {
  report::ContainerState container = programmed("app");
  container.reclaim.emplace();
  report::ReclaimState& reclaim = *container.reclaim;
  reclaim.why = "this kernel has no memory.reclaim";
  const std::string who = R"({namespace="shop",pod="web",container="app")";
  Exposition exposition;
  report::Snapshot off;
  off.pods.push_back(podOf("web", {container}));
  EXPECT_THAT(lines(render(exposition, off)), Not(Contains(StartsWith("memqos_reclaim_requested_bytes_total" + who))));

  reclaim.state = "idle";
  reclaim.marks = {{"start", mebibytes(48)}, {"stop", mebibytes(47)}, {"urgent", mebibytes(60)}};
  reclaim.requested = mebibytes(2);
  reclaim.reclaimed = mebibytes(3);
  reclaim.writes[{"mixed", "again"}] = 4;
  reclaim.refaulted = Bytes{8192};
  reclaim.cacheMapped = Bytes{4096};
  reclaim.cacheUnmapped = Bytes{12288};
  reclaim.cacheLimit = mebibytes(32);
  report::Snapshot on;
  on.pods.push_back(podOf("web", {container}));
  exposition.observeReclaim(std::chrono::milliseconds(3));
  const auto page = lines(render(exposition, on));
  for (const std::string& line : {
           "memqos_reclaim_requested_bytes_total" + who + "} 2097152",
           "memqos_reclaim_reclaimed_bytes_total" + who + "} 3145728",
           "memqos_reclaim_writes_total" + who + R"(,mode="mixed",result="again"} 4)",
           "memqos_refault_bytes_total" + who + "} 8192",
           "memqos_usage_watermark_bytes" + who + R"(,mark="start"} 50331648)",
           "memqos_usage_watermark_bytes" + who + R"(,mark="urgent"} 62914560)",
           "memqos_page_cache_bytes" + who + R"(,mapped="true"} 4096)",
           "memqos_page_cache_bytes" + who + R"(,mapped="false"} 12288)",
           "memqos_page_cache_limit_bytes" + who + "} 33554432",
           std::string("memqos_reclaim_seconds_count 1"),
       }) {
    EXPECT_THAT(page, Contains(line));
  }
}

TEST(Exposition, AContainerOfWhichNothingIsKnownHasNoSeries) {
  report::Snapshot snapshot;
  report::ContainerState container;
  container.name = "idle";
  snapshot.pods.push_back(podOf("web", {container}));
  Exposition exposition;
  EXPECT_EQ(render(exposition, snapshot).find("idle"), std::string::npos);
}

TEST(Exposition, AgentSeries) {
  report::Snapshot snapshot;
  snapshot.podsByState = {{"managed", 3}, {"opted_out", 1}};
  snapshot.containersByState = {{"programmed", 4}};
  snapshot.controlWrites[{"memory.min", "written"}] = 5;
  snapshot.drift["memory.high"] = 6;
  snapshot.annotationErrors["InvalidAnnotation"] = 7;
  snapshot.features = {{"psi", true, "", {}, true}, {"zswap", false, "", {}, true}, {"freeze", false, "", {}, false}};
  snapshot.dropped["jobs"] = 8;
  Exposition exposition;
  const auto page = lines(render(exposition, snapshot));
  for (const char* line : {
           R"(memqos_pods{state="managed"} 3)",
           R"(memqos_pods{state="opted_out"} 1)",
           R"(memqos_containers{state="programmed"} 4)",
           R"(memqos_control_writes_total{file="memory.min",result="written"} 5)",
           R"(memqos_drift_total{file="memory.high"} 6)",
           R"(memqos_annotation_errors_total{reason="InvalidAnnotation"} 7)",
           R"(memqos_kernel_feature{feature="psi"} 1)",
           R"(memqos_kernel_feature{feature="zswap"} 0)",
           R"(memqos_dropped_total{what="jobs"} 8)",
           R"(memqos_dropped_total{what="series"} 0)",
           "# TYPE memqos_control_writes_total counter",
           "# TYPE memqos_pods gauge",
       }) {
    EXPECT_THAT(page, Contains(line));
  }
  EXPECT_THAT(page, Not(Contains(StartsWith(R"(memqos_kernel_feature{feature="freeze"})"))));
  EXPECT_THAT(page, Contains(StartsWith(R"(memqos_build_info{version=")")));
  EXPECT_THAT(page, Contains(StartsWith("process_resident_memory_bytes ")));
}

TEST(Exposition, Histograms) {
  Exposition exposition;
  exposition.observeApply("drift", std::chrono::milliseconds(3));
  exposition.observeApply("drift", std::chrono::seconds(2));
  exposition.observeLoopLag(std::chrono::microseconds(50));
  const auto page = lines(exposition.text(nullptr));
  for (const char* line : {
           "# TYPE memqos_apply_seconds histogram",
           R"(memqos_apply_seconds_count{trigger="drift"} 2)",
           R"(memqos_apply_seconds_bucket{trigger="drift",le="0.001"} 0)",
           R"(memqos_apply_seconds_bucket{trigger="drift",le="1"} 1)",
           R"(memqos_apply_seconds_bucket{trigger="drift",le="+Inf"} 2)",
           "memqos_loop_lag_seconds_count 1",
           R"(memqos_loop_lag_seconds_bucket{le="0.0001"} 1)",
       }) {
    EXPECT_THAT(page, Contains(line));
  }
}

// The rules of the text format, on a page with everything: HELP and TYPE once per family and before its samples, every
// sample of a family of the table, no series twice.
TEST(Exposition, ThePageIsWellFormed) {
  report::Snapshot snapshot;
  snapshot.pods = {podOf("web", {programmed("app"), programmed("side")}), podOf("db", {programmed("app")})};
  snapshot.podsByState = {{"managed", 2}};
  snapshot.drift["memory.min"] = 1;
  Exposition exposition;
  exposition.observeApply("start", std::chrono::seconds(1));
  std::set<std::string> known;
  for (const FamilyInfo& row : families()) known.insert(std::string(row.name));
  std::set<std::string> typed;
  std::set<std::string> series;
  std::string current;
  for (const std::string& line : lines(render(exposition, snapshot))) {
    if (line.starts_with("# TYPE ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(typed.insert(current).second) << line;
      EXPECT_TRUE(known.contains(current)) << line;
      continue;
    }
    if (line.starts_with("# HELP ")) continue;
    const std::string name = line.substr(0, line.find_first_of("{ "));
    EXPECT_TRUE(name.starts_with(current)) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_GE(typed.size(), 15U);
}

TEST(Exposition, TheCapCutsWholeContainersAndCounts) {
  report::Snapshot snapshot;
  for (int i = 0; i < 10; ++i) snapshot.pods.push_back(podOf("p" + std::to_string(9 - i), {programmed("app")}));
  Exposition one;
  snapshot.pods.resize(1);
  const std::string single = render(one, snapshot);
  std::size_t perContainer = 0;
  for (const auto& line : lines(single)) perContainer += line.find("pod=\"p9\"") != std::string::npos ? 1U : 0U;
  for (int i = 1; i < 10; ++i) snapshot.pods.push_back(podOf("p" + std::to_string(9 - i), {programmed("app")}));

  Exposition capped(Exposition::Options{.maxSeries = 3 * perContainer + 1});
  const std::string page = render(capped, snapshot);
  for (const char* kept : {"p0", "p1", "p2"})
    EXPECT_NE(page.find("pod=\"" + std::string(kept) + "\""), std::string::npos);
  for (const char* cut : {"p3", "p9"}) EXPECT_EQ(page.find("pod=\"" + std::string(cut) + "\""), std::string::npos);
  const std::string counted = "memqos_dropped_total{what=\"series\"} ";
  EXPECT_THAT(lines(page), Contains(counted + std::to_string(7 * perContainer)));
  EXPECT_THAT(lines(render(capped, snapshot)), Contains(counted + std::to_string(14 * perContainer)));
}

TEST(Exposition, TwoPodsOfOneNameMakeOneSeries) {
  report::Snapshot snapshot;
  report::ContainerState old = programmed("app");
  old.usage.reset();
  snapshot.pods = {podOf("web-0", {old}), podOf("web-0", {programmed("app")})};
  Exposition exposition;
  std::size_t samples = 0;
  std::size_t usages = 0;
  for (const auto& line : lines(render(exposition, snapshot))) {
    if (line.find("memory.oom.group") != std::string::npos && line.starts_with("memqos_control_wanted")) ++samples;
    if (line.starts_with("memqos_usage_bytes{")) ++usages;
  }
  EXPECT_EQ(samples, 1U);
  EXPECT_EQ(usages, 1U);  // the one that lives
}

TEST(Exposition, HostileNamesCannotBreakThePage) {
  report::Snapshot snapshot;
  snapshot.pods.push_back(podOf("a\"} 1\nmemqos_evil 1\n\\", {programmed("\xff\xfe")}));
  Exposition exposition;
  const std::string page = render(exposition, snapshot);
  for (const auto& line : lines(page)) EXPECT_FALSE(line.starts_with("memqos_evil")) << line;
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_NE(page.find("container=\"\xEF\xBF\xBD\xEF\xBF\xBD\""), std::string::npos);
}

TEST(Exposition, ControlCharactersInNamesAddNoLine) {
  report::Snapshot snapshot;
  std::string nasty;
  for (char c = 0; c < 0x20; ++c) nasty += c;
  snapshot.pods.push_back(podOf("web", {programmed("app")}));
  Exposition plain;
  const std::size_t expected = lines(render(plain, snapshot)).size();
  snapshot.pods.clear();
  snapshot.pods.push_back(podOf("w\r\n" + nasty + std::string(256UL * 1024, 'x'), {programmed(nasty)}));
  Exposition exposition;
  EXPECT_EQ(lines(render(exposition, snapshot)).size(), expected);
}

TEST(Exposition, AFailedPartIsCounted) {
  Exposition exposition(Exposition::Options{.procRoot = "/nonexistent"});
  const std::string page = exposition.text(nullptr);
  EXPECT_THAT(lines(page), Contains(R"(memqos_dropped_total{what="collect"} 1)"));
  EXPECT_EQ(page.find("process_"), std::string::npos);
  EXPECT_NE(page.find("memqos_build_info"), std::string::npos);
}

}  // namespace
}  // namespace memqos::metrics
