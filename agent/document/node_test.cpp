#include "document/node.h"

namespace memqos::document {
namespace {

TEST(Node, SetReplacesAndKeepsOrder) {
  Node node;
  node.set("b", Node::integer(1)).set("a", Node::boolean(true)).set("b", Node::string("two"));
  ASSERT_EQ(node.members.size(), 2U);
  EXPECT_EQ(node.members[0].key, "b");
  EXPECT_EQ(node.find("b")->asString().value(), "two");
  EXPECT_EQ(node.find("c"), nullptr);
  EXPECT_EQ(Node::list().find("a"), nullptr);
}

TEST(Node, StrictViewsDoNotCoerce) {
  EXPECT_FALSE(Node::string("1").asInteger());
  EXPECT_FALSE(Node::string("true").asBoolean());
  EXPECT_FALSE(Node::integer(1).asString());
  EXPECT_FALSE(Node::real(1).asInteger());
  EXPECT_FALSE(Node::null().asString());
  EXPECT_DOUBLE_EQ(Node::integer(-3).asReal().value(), -3.0);
  const auto error = Node::boolean(true).asInteger().error();
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.text(), "expected a whole number, found true or false: true");
  EXPECT_EQ(Node::map().asString().error().text(), "expected a string, found a map");
}

TEST(Node, IntegersKeepTheirRange) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Node::integer(kMin).asInteger().value(), kMin);
  Node big = Node::integer(0);
  big.scalar = "9223372036854775808";
  EXPECT_EQ(big.asInteger().error().text(), "9223372036854775808 is out of range");
}

TEST(Dump, Json) {
  Node node;
  node.set("text", Node::string("a\"\n\xff\xc3\xa9")).set("n", Node::integer(-5)).set("r", Node::real(0.9));
  node.set("none", Node::null()).set("list", Node::list({Node::boolean(false), Node::map()}));
  EXPECT_EQ(dumpJson(node),
            "{\"text\":\"a\\\"\\n\xEF\xBF\xBD\xc3\xa9\",\"n\":-5,\"r\":0.9,\"none\":null,\"list\":[false,{}]}");
  EXPECT_EQ(dumpJson(Node::list({Node::integer(1)}), 2), "[\n  1\n]");
  EXPECT_EQ(dumpJson(Node::real(std::numeric_limits<double>::infinity())), "null");
}

TEST(Dump, YamlNumbersBecomeJson) {
  const auto roots = parseYaml("[010, 0x10, 1_000, 18446744073709551615, -0b11, yes, 1.5, .5]");
  ASSERT_TRUE(roots);
  EXPECT_EQ(dumpJson(roots->front()), "[8,16,1000,18446744073709551615,-3,true,1.5,0.5]");
}

TEST(Dump, YamlQuotesWhatReadersWouldMistake) {
  Node node;
  node.set("on", Node::string("yes")).set("plain", Node::string("64Mi")).set("number", Node::string("010"));
  node.set("null", Node::null()).set("empty", Node::map()).set("list", Node::list({Node::integer(1)}));
  EXPECT_EQ(dumpYaml(node), "\"on\": \"yes\"\nplain: 64Mi\nnumber: \"010\"\n\"null\": ~\nempty: {}\nlist:\n  - 1\n");
}

TEST(Dump, YamlRoundTrips) {
  Node node;
  for (const std::string text :
       {"",  " lead", "trail ", "a: b", "# no", "- x", "line\nbreak", "tab\t", "\xc3\xa9", "'",  "\"", "<<",
        "=", "~",     "1e3",    "0o7",  "&a",   "*a",  "!t",          "%d",    "@x",       "`x", "{a", "[a",
        "?", "-",     ":",      "a #b", "---",  "...", "\x01",        "yes",   "12:30",    "|",  ">"}) {
    node.set("k" + text, Node::string(text));
    node.set(text, Node::list({Node::string(text), Node::map({{"x", {}, Node::string(text)}})}));
  }
  node.set(std::string(3000, 'k'), Node::integer(1));
  const auto back = parseYaml(dumpYaml(node));
  ASSERT_TRUE(back) << back.error().error.text();
  ASSERT_EQ(back->size(), 1U);
  EXPECT_EQ(dumpJson(back->front()), dumpJson(node));
}

TEST(Dump, InvalidUtf8IsReplaced) {
  const auto back = parseYaml(dumpYaml(Node::map({{"a\xff", {}, Node::string("\xfe")}})));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->front().find("a\xEF\xBF\xBD")->scalar, "\xEF\xBF\xBD");
}

// Strings of pods reach terminals by way of JSON and YAML too.
TEST(Dump, YamlEscapesWhatItCannotHave) {
  for (const std::string text : {"0cted\x7f ", "\x01", "\x7f: b"}) {
    Node node = Node::map();
    node.set(text, Node::string(text));
    const auto back = parseYaml(dumpYaml(node));
    ASSERT_TRUE(back) << back.error().error.sentence;
    EXPECT_EQ(back->at(0).members.at(0).key, text);
    EXPECT_EQ(back->at(0).members.at(0).value.scalar, text);
  }
}

TEST(Dump, WhatTerminalsActOnIsEscaped) {
  const std::string text = "a\x1b[2J\x7f\u009b31m\u202egnp\u2028\ufeff\u00e9\u65e5";
  for (const bool yaml : {false, true}) {
    const Node node = Node::list({Node::string(text)});
    const std::string out = yaml ? dumpYaml(node) : dumpJson(node);
    for (const char* raw : {"\x1b", "\x7f", "\u009b", "\u202e", "\u2028", "\ufeff"})
      EXPECT_EQ(out.find(raw), std::string::npos) << out;
    const auto back = yaml ? parseYaml(out)->front() : *parseJson(out);
    EXPECT_EQ(back.items.at(0).scalar, text) << out;
  }
  EXPECT_EQ(dumpJson(Node::string("caf\u00e9")), "\"caf\u00e9\"") << "the rest stays readable";
  EXPECT_EQ(dumpYaml(Node::string("caf\u00e9")), "caf\u00e9\n");
  // At the start of a line these end a document.
  EXPECT_EQ(dumpYaml(Node::string("---")), "\"---\"\n");
  EXPECT_EQ(dumpYaml(Node::string("... more")), "\"... more\"\n");
}

}  // namespace
}  // namespace memqos::document
