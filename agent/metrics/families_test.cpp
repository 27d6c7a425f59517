#include "metrics/families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "metrics/reference.h"

namespace memqos::metrics {
namespace {

TEST(Families, NamesAreUniqueAndFollowTheHabits) {
  std::set<std::string_view> names;
  for (const FamilyInfo& row : families()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.name.starts_with("memqos_") || row.name.starts_with("process_")) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << row.name;
    EXPECT_EQ(row.name.ends_with("_total"), row.type == Type::counter) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
  }
}

TEST(Families, LabelsDoNotClash) {
  for (const FamilyInfo& row : families()) {
    std::set<std::string_view> labels;
    if (row.perContainer) labels.insert(containerLabels().begin(), containerLabels().end());
    for (const std::string_view label : row.labels) {
      if (label.empty()) continue;
      EXPECT_TRUE(labels.insert(label).second) << row.name << " " << label;
      EXPECT_NE(label, "le") << row.name;  // the library accepts it and breaks histograms
    }
  }
}

TEST(Families, TheReferenceIsUpToDate) {
  const std::string path = std::string(MEMQOS_SOURCE_DIR) + "/docs/reference/metrics.md";
  const auto text = readFile(path, 1 << 20);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_TRUE(refreshGenerated(*text, generatedParts()).value() == *text) << "run make generate";
  EXPECT_NE(text->find(familyReference()), std::string::npos);
}

}  // namespace
}  // namespace memqos::metrics
