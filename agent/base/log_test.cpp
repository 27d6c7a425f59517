#include "base/log.h"

#include "base/utf8.h"

namespace memqos {
namespace {

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    log::capture([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    log::capture(nullptr);
    log::configure(log::Level::info, log::Format::text);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, OutsideTextCannotBreakTheLine) {
  log::configure(log::Level::info, log::Format::json);
  log::warning("bad \"value\"", {{"pod", "a\nb\xff"}, {"count", 3}});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find(R"("message":"bad \"value\"","pod":"a\nb)"
                           "\xEF\xBF\xBD"
                           R"(","count":"3"})"),
            std::string::npos)
      << lines_[0];
}

TEST_F(LogTest, TextQuotesWhatIsNotPlain) {
  log::configure(log::Level::info, log::Format::text);
  log::info("applied \"x\"", {{"file", "memory.min"}, {"why", "a b"}, {"empty", ""}, {"end", "1"}});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("applied \"x\" file=memory.min why=\"a b\" end=1"), std::string::npos) << lines_[0];
}

TEST_F(LogTest, NothingThatATerminalActsOnIsWritten) {
  std::string nasty;
  for (char c = 0; c < 0x20; ++c) nasty += c;
  nasty += "\x7f\u0080\u009b31m\u202e\u2066\u2028\ufeff\xff\xc3";
  for (const log::Format format : {log::Format::json, log::Format::text}) {
    log::configure(log::Level::info, format);
    log::info(nasty, {{"value", nasty}});
  }
  ASSERT_EQ(lines_.size(), 2U);
  for (std::string_view line : lines_) {
    while (!line.empty()) {
      const std::size_t length = utf8Sequence(line);
      ASSERT_GT(length, 0U);
      EXPECT_FALSE(actsOnTerminal(utf8CodePoint(line.substr(0, length))))
          << static_cast<unsigned>(utf8CodePoint(line.substr(0, length)));
      line.remove_prefix(length);
    }
  }
  EXPECT_EQ(log::escapeJson("\u009b\u202e\u00e9"), "\\u009b\\u202e\u00e9");
}

TEST_F(LogTest, LevelsBelowTheLeastAreDropped) {
  log::configure(log::Level::warning, log::Format::text);
  log::info("x");
  log::error("y");
  EXPECT_EQ(lines_.size(), 1U);
}

TEST(EscapeJson, RefusesOverlongAndSurrogates) {
  EXPECT_EQ(log::escapeJson("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(log::escapeJson("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(log::escapeJson("\xE2\x82\xAC"), "\xE2\x82\xAC");
  EXPECT_EQ(log::escapeJson(std::string_view("\0", 1)), "\\u0000");
}

}  // namespace
}  // namespace memqos
