#include "document/node.h"

namespace memqos::document {
namespace {

struct Row {
  std::string text, expected;
};

TEST(Json, RoundTrips) {
  for (const std::string text :
       {"null", "true", "-5", "1.5", "\"x\"", "[]", "{}", R"({"a":[1,{"b":null}],"c":"\u0001\n"})",
        "18446744073709551615", "-9223372036854775808", R"(["a\"b\\",[[]],{"":""}])"}) {
    const auto node = parseJson(text);
    ASSERT_TRUE(node) << text << node.error().error.text();
    EXPECT_EQ(dumpJson(*node), text);
  }
}

TEST(Json, KindsAndWrittenText) {
  const auto node = parseJson(R"([1, 1.0, 1e3, "1", true, null, 99999999999999999999, "\ud83d\ude00"])");
  ASSERT_TRUE(node);
  const std::vector<std::pair<Kind, std::string>> expected = {{Kind::integer, "1"},
                                                              {Kind::real, "1.0"},
                                                              {Kind::real, "1e3"},
                                                              {Kind::string, "1"},
                                                              {Kind::boolean, "true"},
                                                              {Kind::null, ""},
                                                              {Kind::real, "99999999999999999999"},
                                                              {Kind::string, "\xF0\x9F\x98\x80"}};
  ASSERT_EQ(node->items.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(node->items[i].kind, expected[i].first) << i;
    EXPECT_EQ(node->items[i].scalar, expected[i].second) << i;
  }
}

TEST(Json, Positions) {
  const auto node = parseJson("{\n  \"a\" : [ 1,\n    -2.5e1,\"x\\\"y\"],\"\xc3\xa9\":{},\n \"b\":\ttrue\n}\n");
  ASSERT_TRUE(node) << node.error().error.text();
  EXPECT_EQ(node->position, (Position{1, 1}));
  EXPECT_EQ(node->members[0].position, (Position{2, 3}));
  const Node& list = node->members[0].value;
  EXPECT_EQ(list.position, (Position{2, 9}));
  EXPECT_EQ(list.items[0].position, (Position{2, 11}));
  EXPECT_EQ(list.items[1].position, (Position{3, 5}));
  EXPECT_EQ(list.items[2].position, (Position{3, 12}));
  EXPECT_EQ(node->members[1].position, (Position{3, 20}));
  EXPECT_EQ(node->members[1].value.position, (Position{3, 24}));
  EXPECT_EQ(node->members[2].value.position, (Position{4, 7}));
}

TEST(Json, Refuses) {
  const std::vector<Row> rows = {
      {"", "line 1, column 1: not valid JSON: unexpected end of input; expected '[', '{', or a literal"},
      {"{\"a\":1,\"a\":2}", "line 1, column 8: duplicate key 'a'"},
      {"\xEF\xBB\xBF{}", "line 1, column 1: JSON must not start with a byte order mark"},
      {"{} x", "line 1, column 4: not valid JSON: invalid literal; expected end of input"},
      {"[1,]", "line 1, column 4: not valid JSON: unexpected ']'; expected '[', '{', or a literal"},
      {"{a: 1}", "line 1, column 2: not valid JSON: invalid literal; expected string literal"},
      {"[1] // c", "line 1, column 5: not valid JSON: invalid literal; expected end of input"},
      {"{\n\"a\": \"x\ty\"}",
       "line 2, column 8: not valid JSON: invalid string: control character U+0009 (HT) must be "
       "escaped to \\u0009 or \\t"},
      {"[\"\xff\"]", "line 1, column 3: not valid JSON: invalid string: ill-formed UTF-8 byte"},
      {"[1e999]", "line 1, column 6: not valid JSON"},
      {"[NaN]", "line 1, column 2: not valid JSON: invalid literal"},
      {"[01]", "line 1, column 3: not valid JSON: unexpected number literal; expected ']'"},
      {"'x'", "line 1, column 1: not valid JSON: invalid literal"},
      {std::string("[1\0]", 4), "line 1, column 3: not valid JSON: a NUL character"},
      {std::string("{}\0 x", 5), "line 1, column 3: not valid JSON: a NUL character"},
      {"{\"a\"", "line 1, column 5: not valid JSON: unexpected end of input; expected ':'"},
  };
  for (const Row& row : rows) {
    const auto node = parseJson(row.text);
    ASSERT_FALSE(node) << row.text;
    EXPECT_EQ(node.error().error.sentence, row.expected) << row.text;
  }
}

}  // namespace
}  // namespace memqos::document
