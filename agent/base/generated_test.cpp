#include "base/generated.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace memqos {
namespace {

std::string animals() {
  return "cat\ndog\n";
}
std::string plants() {
  return "fern\n";
}
constexpr std::array<GeneratedPart, 2> kParts = {{{"animals", animals}, {"plants", plants}}};

constexpr const char* kStale =
    "# Title\n<!-- generated: begin animals -->\nold\n<!-- generated: end -->\nbetween\n"
    "<!-- generated: begin plants -->\n<!-- generated: end -->\nend\n";
constexpr const char* kFresh =
    "# Title\n<!-- generated: begin animals -->\ncat\ndog\n<!-- generated: end -->\nbetween\n"
    "<!-- generated: begin plants -->\nfern\n<!-- generated: end -->\nend\n";

TEST(Generated, EveryPartIsReplacedAndTheRestKept) {
  EXPECT_EQ(refreshGenerated(kStale, kParts).value(), kFresh);
  EXPECT_EQ(refreshGenerated(kFresh, kParts).value(), kFresh);
  EXPECT_EQ(refreshGenerated("no parts\n", kParts).value(), "no parts\n");
}

TEST(Generated, TheMarksMayStandInCommentsOfOtherLanguages) {
  EXPECT_EQ(
      refreshGenerated("a:\n  # <!-- generated: begin animals -->\nold\n  # <!-- generated: end --> x\nb\n", kParts),
      "a:\n  # <!-- generated: begin animals -->\ncat\ndog\n  # <!-- generated: end --> x\nb\n");
  EXPECT_FALSE(refreshGenerated("# <!-- generated: begin animals --> <!-- generated: end -->\n", kParts));
}

TEST(Generated, BrokenMarksAreErrors) {
  EXPECT_FALSE(refreshGenerated("<!-- generated: begin animals -->\nold\n", kParts));
  EXPECT_FALSE(refreshGenerated("<!-- generated: begin stones -->\n<!-- generated: end -->\n", kParts));
}

TEST(Generated, TheGeneratorChecksOrWrites) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("generated-" + std::to_string(getpid()) + ".md");
  std::ofstream(path) << kStale;
  const std::string name = path.string();
  const std::array<const char*, 3> check = {"generate", "--check", name.c_str()};
  const std::array<const char*, 2> refresh = {"generate", name.c_str()};
  EXPECT_EQ(generateMain(3, check.data(), kParts), 1);
  EXPECT_EQ(readFile(name, 4096).value(), kStale);
  EXPECT_EQ(generateMain(2, refresh.data(), kParts), 0);
  EXPECT_EQ(readFile(name, 4096).value(), kFresh);
  EXPECT_EQ(generateMain(3, check.data(), kParts), 0);
  EXPECT_EQ(generateMain(1, refresh.data(), kParts), 1);
  std::filesystem::remove(path);
  EXPECT_EQ(generateMain(2, refresh.data(), kParts), 1);
}

}  // namespace
}  // namespace memqos
