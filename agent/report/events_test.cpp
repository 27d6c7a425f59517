#include "report/events.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace memqos::report {
namespace {

using std::chrono::seconds;

policy::Finding finding(const std::string& key, const std::string& value = "x") {
  policy::Finding f;
  f.reason = policy::Reason::invalidAnnotation;
  f.nameSpace = "shop";
  f.pod = "web";
  f.uid = "u-1";
  f.key = key;
  f.value = value;
  f.problem = "is wrong";
  f.advice = "do better";
  return f;
}

constexpr EventFilter::Time kStart{};

TEST(Events, AnEventHasTheReasonAndTheSentence) {
  const Event event = toEvent(finding("memqos.io/memory-min", "64MB"));
  EXPECT_EQ(event.reason, "InvalidAnnotation");
  EXPECT_EQ(event.severity, policy::Severity::error);
  EXPECT_EQ(event.message, "memqos.io/memory-min \"64MB\": is wrong; do better");
  EXPECT_EQ(event.uid, "u-1");
  EXPECT_EQ(event.at, "");
  policy::Finding placed = finding("memqos.io/memory-min", "64MB");
  placed.source.file = "pods/web.yaml";
  placed.source.position = {7, 27};
  EXPECT_EQ(toEvent(placed).at, "pods/web.yaml:7:27");
}

TEST(Events, TheSameFindingIsToldOnceUntilItChanges) {
  EventFilter filter;
  const std::vector one = {finding("a")};
  EXPECT_EQ(filter.update("u-1", one, kStart).size(), 1U);
  EXPECT_TRUE(filter.update("u-1", one, kStart + seconds(9999)).empty());
  const auto changed = filter.update("u-1", std::vector{finding("a", "y"), finding("b")}, kStart);
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].message, "a \"y\": is wrong; do better");
  EXPECT_EQ(filter.held(), 0U);
}

TEST(Events, AFindingThatComesBackIsToldAgain) {
  EventFilter filter;
  const std::vector one = {finding("a")};
  EXPECT_EQ(filter.update("u-1", one, kStart).size(), 1U);
  EXPECT_TRUE(filter.update("u-1", {}, kStart).empty());
  EXPECT_EQ(filter.update("u-1", one, kStart).size(), 1U);
}

TEST(Events, TwiceInOneCallIsOnce) {
  EventFilter filter;
  EXPECT_EQ(filter.update("u-1", std::vector{finding("a"), finding("a")}, kStart).size(), 1U);
}

TEST(Events, SubjectsDoNotShareABucket) {
  EventFilter filter({.burst = 1, .refill = seconds(300)});
  EXPECT_EQ(filter.update("u-1", std::vector{finding("a")}, kStart).size(), 1U);
  EXPECT_EQ(filter.update("u-2", std::vector{finding("a")}, kStart).size(), 1U);
}

TEST(Events, WhatTheRateHoldsBackIsCountedAndComesLater) {
  EventFilter filter({.burst = 2, .refill = seconds(300)});
  const std::vector three = {finding("a"), finding("b"), finding("c")};
  EXPECT_EQ(filter.update("u-1", three, kStart).size(), 2U);
  EXPECT_EQ(filter.held(), 1U);
  EXPECT_TRUE(filter.update("u-1", three, kStart + seconds(299)).empty());
  const auto later = filter.update("u-1", three, kStart + seconds(301));
  ASSERT_EQ(later.size(), 1U);
  EXPECT_EQ(later[0].message, "c \"x\": is wrong; do better");
  EXPECT_EQ(filter.held(), 2U);
}

TEST(Events, AFlappingFindingIsBoundedByTheRate) {
  EventFilter filter({.burst = 5, .refill = seconds(300)});
  std::size_t told = 0;
  for (int i = 0; i < 1000; ++i)
    told += filter.update("u-1", std::vector{finding("a", std::to_string(i))}, kStart + seconds(i)).size();
  EXPECT_EQ(told, 5U + 999 / 300);
}

TEST(Events, ForgettingASubjectForgetsWhatWasTold) {
  EventFilter filter;
  const std::vector one = {finding("a")};
  EXPECT_EQ(filter.update("u-1", one, kStart).size(), 1U);
  filter.forget("u-1");
  EXPECT_EQ(filter.update("u-1", one, kStart).size(), 1U);
}

TEST(Events, TheLogRecordCarriesTheReason) {
  std::string line;
  log::configure(log::Level::info, log::Format::json);
  log::capture([&](std::string_view text) { line = text; });
  writeLog(toEvent(finding("a")));
  log::capture(nullptr);
  log::configure(log::Level::info, log::Format::text);
  EXPECT_NE(line.find(R"("level":"error")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("reason":"InvalidAnnotation")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("pod":"web")"), std::string::npos) << line;
}

}  // namespace
}  // namespace memqos::report
