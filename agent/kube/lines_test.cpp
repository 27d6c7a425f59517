#include "kube/lines.h"

#include <vector>

namespace memqos::kube {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> linesOf(const std::vector<std::string>& parts, LineReader reader = LineReader()) {
  std::vector<std::string> out;
  for (const std::string& part : parts) {
    reader.feed(part, [&](std::string_view line) {
      out.emplace_back(line);
      return true;
    });
  }
  return out;
}

TEST(Lines, PartsAreNoLines) {
  EXPECT_THAT(linesOf({"a\nb\n"}), ElementsAre("a", "b"));
  EXPECT_THAT(linesOf({"a", "b", "c\n", "\n", "d\ne"}), ElementsAre("abc", "d"));
  EXPECT_THAT(linesOf({"a", "\n"}), ElementsAre("a"));
}

TEST(Lines, EveryCutGivesTheSame) {
  const std::string text = "first line\n{\"second\": \"line\"}\nthird\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_THAT(linesOf({text.substr(0, cut), text.substr(cut)}),
                ElementsAre("first line", "{\"second\": \"line\"}", "third"));
}

TEST(Lines, TheReaderMayStop) {
  LineReader reader;
  int seen = 0;
  EXPECT_FALSE(reader.feed("a\nb\nc\n", [&](std::string_view) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(reader.tooLong());
}

TEST(Lines, TooLongEndsIt) {
  LineReader reader(10);
  const auto any = [](std::string_view) { return true; };
  EXPECT_TRUE(reader.feed("1234567890\n", any));
  EXPECT_TRUE(reader.feed("123456", any));
  EXPECT_EQ(reader.rest(), "123456");
  EXPECT_FALSE(reader.feed("78901", any));
  EXPECT_TRUE(reader.tooLong());
}

}  // namespace
}  // namespace memqos::kube
