// Texts that want to exhaust a parser: each must end as a failure or a value, never as a crash or as much memory.
#include <random>

#include "document/node.h"

namespace memqos::document {
namespace {

using namespace std::string_literals;

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string sentence(const std::string& yaml, const Caps& caps = {}) {
  const auto roots = parseYaml(yaml, caps);
  return roots ? "" : roots.error().error.sentence;
}

TEST(Hostile, AliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + repeat("," + last, 9) + "]\n";
  }
  EXPECT_NE(sentence(bomb).find("too many values; at most 1000000"), std::string::npos) << sentence(bomb);
}

TEST(Hostile, AliasesOfALongTextAreRefused) {
  const std::string yaml = "a: &a \"" + std::string(1 << 20, 'x') + "\"\nb: [*a" + repeat(",*a", 100) + "]\n";
  EXPECT_NE(sentence(yaml).find("aliases expand to more than"), std::string::npos);
}

TEST(Hostile, NestedAnchorsDoNotMultiplyMemory) {
  std::string yaml;
  for (int i = 0; i < 60; ++i) yaml += "&a" + std::to_string(i) + " [";
  yaml += "x" + repeat(",x", 50'000) + std::string(60, ']');
  EXPECT_NE(sentence(yaml).find("too many values"), std::string::npos);
}

TEST(Hostile, DepthIsCapped) {
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{{"[", "]"}, {"{\"a\":", "}"}}) {
    for (const std::size_t levels : {64UL, 65UL, 100'000UL}) {
      const std::string text = repeat(open, levels) + "1" + repeat(close, levels);
      EXPECT_EQ(parseJson(text).has_value(), levels <= 64) << levels << open;
      EXPECT_EQ(parseYaml(text).has_value(), levels <= 64) << levels << open;
    }
  }
  EXPECT_EQ(sentence(repeat("- ", 100'000)), "line 1, column 129: nested too deeply; at most 64 levels are read");
  EXPECT_NE(sentence(repeat("[", 100'000)), "");
  EXPECT_NE(sentence(repeat("? ", 10'000)), "");
  EXPECT_NE(sentence("a: &a " + repeat("[", 40) + repeat("]", 40) + "\nb: " + repeat("[", 30) + "*a" + repeat("]", 30)),
            "");
}

TEST(Hostile, SizeAndCountAreCapped) {
  Caps caps;
  caps.bytes = 10;
  EXPECT_EQ(sentence("a: 12345678", caps), "line 1, column 1: 11 bytes; at most 10 are read");
  EXPECT_TRUE(parseYaml("a: 1234567", caps));
  EXPECT_FALSE(parseJson("[1,2,3,4,5]", caps));
  caps = {};
  caps.nodes = 4;
  EXPECT_TRUE(parseJson("[1,2,3]", caps));
  EXPECT_EQ(parseJson("[1,2,3,4]", caps).error().position, (Position{1, 8}));
  EXPECT_FALSE(parseYaml("[1,2,3,4]", caps));
}

TEST(Hostile, BytesThatAreNotText) {
  EXPECT_EQ(sentence(std::string("a: 1\n\0b: 2", 10)),
            "line 2, column 1: control character U+0000; use an escape in double quotes");
  EXPECT_NE(sentence("\xFF\xFE"
                     "a"),
            "");                                       // UTF-16
  EXPECT_NE(sentence(std::string("\0\0\0a", 4)), "");  // UTF-32
  EXPECT_NE(sentence("a: \xC0\xAF"), "");              // overlong
  EXPECT_NE(sentence("a: \xED\xA0\x80"), "");          // surrogate
  EXPECT_NE(sentence("a: \x04 b"), "");                // what yaml-cpp takes for the end of input
  EXPECT_NE(sentence("a: \xEF\xBB\xBF"), "");          // a BOM inside
}

TEST(Hostile, LongLines) {
  const std::string million(1'000'000, 'x');
  for (const std::string& text :
       {"a: " + million, "a: \"" + million + "\"", "# " + million + "\na: 1", "a: |\n  " + million}) {
    EXPECT_EQ(sentence(text), "") << text.substr(0, 20);
  }
  EXPECT_NE(sentence(million + ": 1\n" + million + ": 2\n"), "");
  const auto wide = parseYaml("[1" + repeat(", 1", 100'000) + "]");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->front().items.back().position, (Position{1, 300'002}));
}

TEST(Hostile, ManyKeysAreNotQuadratic) {
  std::string json = "{\"k\":0";
  for (int i = 0; i < 40'000; ++i) json += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_TRUE(parseJson(json + "}"));
  EXPECT_FALSE(parseJson(json + ",\"k99\":0}"));
}

// Random edits of a good text: every outcome is fine, except a crash or an escaping exception.
TEST(Hostile, MutatedTextsNeverEscape) {
  const std::string seed =
      "%YAML 1.1\n--- !!map\na: &x {b: [1, 'q', \"e\\n\\u00e9\"], <<: *x}\n? k\n: |2-\n  t\n- *x # "
      "c\n...\n---\n{\"j\": [true, null]}\n";
  const std::string alphabet = "\n\t -:?[]{},#&*!|>'\"%@`\\<a0.\x00\xff\xc3\xa9~"s;
  std::mt19937 random(20'240'501);  // fixed: the test is the same every time
  std::size_t good = 0;
  for (int round = 0; round < 8'000; ++round) {
    std::string text = seed.substr(random() % seed.size(), 1 + random() % seed.size());
    for (unsigned edits = random() % 8; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, random() % 4);
      } else {
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    const auto yaml = parseYaml(text);
    if (yaml) {
      ++good;
      for (const Node& root : *yaml) EXPECT_FALSE(dumpJson(root).empty() || dumpYaml(root).empty());
    } else {
      EXPECT_GE(yaml.error().position.line, 1U);
    }
    const auto json = parseJson(text);
    if (json) good += dumpJson(*json).empty() ? 0U : 1U;
  }
  EXPECT_GT(good, 100U);
}

}  // namespace
}  // namespace memqos::document
