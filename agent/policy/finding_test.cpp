#include "policy/finding.h"

namespace memqos::policy {
namespace {

TEST(Finding, ReasonsHaveNamesAndSeverities) {
  EXPECT_EQ(name(Reason::invalidAnnotation), "InvalidAnnotation");
  EXPECT_EQ(name(Reason::adjustedValue), "AdjustedValue");
  EXPECT_EQ(name(Reason::invalidManifest), "InvalidManifest");
  EXPECT_EQ(name(Reason::duplicatePod), "DuplicatePod");
  EXPECT_EQ(severityOf(Reason::invalidAnnotation), Severity::error);
  EXPECT_EQ(severityOf(Reason::adjustedValue), Severity::warning);
  for (const ReasonInfo& reason : reasons()) EXPECT_FALSE(reason.summary.empty()) << reason.name;
}

TEST(Finding, TextIsCutBetweenCharacters) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "abc");
  EXPECT_EQ(cut("ab\u00e9", 3), "ab");                   // two bytes
  EXPECT_EQ(cut("a\U0001F600", 4), "a");                 // four bytes
  EXPECT_EQ(cut("\x80\x80\x80\x80\x80", 4).size(), 1U);  // not UTF-8 at all: cut somewhere
  EXPECT_EQ(kept(std::string(300, 'x')).size(), 256U);
  EXPECT_TRUE(kept(std::string(300, 'x')).ends_with("x..."));
  EXPECT_EQ(kept("short"), "short");
}

TEST(Finding, QuotedTextCannotLeaveItsQuotes) {
  EXPECT_EQ(inQuotes("64MB"), "'64MB'");
  EXPECT_EQ(inQuotes("a\nb\x1b\xff"), "'a\\nb\\u001b\uFFFD'");
  EXPECT_EQ(inQuotes(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
}

}  // namespace
}  // namespace memqos::policy
