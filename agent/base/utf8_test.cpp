#include "base/utf8.h"

#include <gtest/gtest.h>

namespace memqos {
namespace {

TEST(Utf8, SequencesByTheirLength) {
  EXPECT_EQ(utf8Sequence("a"), 1U);
  EXPECT_EQ(utf8Sequence("\xC3\xA9"), 2U);
  EXPECT_EQ(utf8Sequence("\xE2\x82\xAC!"), 3U);
  EXPECT_EQ(utf8Sequence("\xF0\x9F\x90\xB3"), 4U);
  EXPECT_EQ(utf8Sequence(""), 0U);
}

TEST(Utf8, WhatIsNotASequence) {
  for (const std::string_view bad :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80", "\xE2\x82"}) {
    EXPECT_EQ(utf8Sequence(bad), 0U) << testing::PrintToString(bad);
  }
}

TEST(Utf8, CodePoints) {
  EXPECT_EQ(utf8CodePoint("a"), U'a');
  EXPECT_EQ(utf8CodePoint("\xC3\xA9"), U'\u00E9');
  EXPECT_EQ(utf8CodePoint("\xE2\x82\xAC"), U'\u20AC');
  EXPECT_EQ(utf8CodePoint("\xF0\x9F\x90\xB3"), U'\U0001F433');
}

TEST(Utf8, BadBytesAreReplaced) {
  EXPECT_EQ(validUtf8("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(validUtf8("a\xFF\xC3z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace memqos
