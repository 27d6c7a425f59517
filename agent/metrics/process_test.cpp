#include "metrics/process.h"

#include <gtest/gtest.h>

namespace memqos::metrics {
namespace {

TEST(ProcessStat, FieldsAreCountedFromTheLastParenthesis) {
  const auto stat = parseProcessStat(
      "42 (a) b (c) S 1 42 42 0 -1 4194560 5 0 0 0 250 50 0 0 20 0 7 0 12345 8192000 300 184467440737095 1 1 0 0 0\n",
      100, kPage);
  ASSERT_TRUE(stat) << stat.error().text();
  EXPECT_DOUBLE_EQ(stat->cpuSeconds, 3.0);
  EXPECT_DOUBLE_EQ(stat->startSeconds, 123.45);
  EXPECT_EQ(stat->threads, 7);
  EXPECT_EQ(stat->virtualMemory, Bytes{8192000});
  EXPECT_EQ(stat->residentMemory, Bytes{300 * 4096});
}

TEST(ProcessStat, JunkIsAnError) {
  for (const std::string_view text : {"", "42", "42 (x", "42 (x) S 1 2 3", ")"}) {
    EXPECT_FALSE(parseProcessStat(text, 100, kPage)) << text;
  }
}

TEST(BootTime, IsALineOfItsOwn) {
  EXPECT_EQ(parseBootTime("cpu  1 2\nbtime 1700000000\nprocesses 5\n").value(), 1700000000);
  EXPECT_FALSE(parseBootTime("cpu 1\n"));
}

TEST(Process, TheRunningOneHasPlausibleFacts) {
  const auto facts = readProcess("/proc");
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_GT(facts->openFds, 2);
  EXPECT_GT(facts->maxFds, facts->openFds);
  EXPECT_GT(facts->stat.residentMemory, kMiB);
  EXPECT_GE(facts->stat.virtualMemory, facts->stat.residentMemory);
  EXPECT_GE(facts->stat.threads, 1);
  EXPECT_GT(facts->startTime, 1.6e9);
}

TEST(Process, WithoutProcItIsAnError) {
  EXPECT_FALSE(readProcess("/nonexistent"));
}

}  // namespace
}  // namespace memqos::metrics
