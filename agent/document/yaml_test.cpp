#include "document/node.h"

namespace memqos::document {
namespace {

std::string json(std::string_view text) {
  const auto roots = parseYaml(text);
  if (!roots) return "failure: " + roots.error().error.text();
  std::string out;
  for (const Node& root : *roots) out += (out.empty() ? "" : " ") + dumpJson(root);
  return out;
}

struct Row {
  std::string text, expected;
};

TEST(Yaml, Reads) {
  const std::vector<Row> rows = {
      {"a: 1\nb: [x, 'y', \"z\"]\n", R"({"a":1,"b":["x","y","z"]})"},
      {"", ""},
      {"# only a comment\n", ""},
      {"---\n---\n", ""},
      {"--- \na: 1\n---\n\n---\nb: 2\n...\n", R"({"a":1} {"b":2})"},
      {"%YAML 1.1\n---\na: 1\n", R"({"a":1})"},
      {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", R"({"a":"x\ny\n","b":"x y"})"},
      {"a:\nb: ~\n", R"({"a":null,"b":null})"},
      {"a: \"on\"\nb: on\nc: 'on'\n", R"({"a":"on","b":true,"c":"on"})"},
      {"a: !!str 64\nb: !!int \"64\"\nc: !foo 64\nd: ! 64\ne: !!bool \"on\"\nf: !!str\n",
       R"({"a":"64","b":64,"c":"64","d":"64","e":true,"f":""})"},
      {"on: 1\n0x10: 2\n", R"({"true":1,"16":2})"},
      {"\xEF\xBB\xBF"
       "a: 1",
       R"({"a":1})"},
      {"a: 1\r\nb:\r\n- 2\r\n", R"({"a":1,"b":[2]})"},
      {"a:\t1", R"({"a":1})"},
      {"{\"a\": [1, {\"b\": null}]}", R"({"a":[1,{"b":null}]})"},
      {"just text", R"("just text")"},
      {"{a, \"b\", c: }", R"({"a":null,"b":null,"c":null})"},
      {"? a\n? 'b'\n: c\n?\n  d\n", R"({"a":null,"b":"c","d":null})"},
      {"a :\n\"b\":\n&x 'c' : \n!!str d: ~\n*x : \n", R"(failure: line 5, column 1: duplicate key 'c')"},
      {"a: 'it''s'\nb: \"x\\\"\"\nc: !!str 'q'\nd: ''\n", R"({"a":"it's","b":"x\"","c":"q","d":""})"},
      {"a: \"x\\0y\"", R"({"a":"x\u0000y"})"},
  };
  for (const Row& row : rows) EXPECT_EQ(json(row.text), row.expected) << row.text;
}

TEST(Yaml, AnchorsAndMergeKeys) {
  const std::vector<Row> rows = {
      {"x: &x {a: 1}\nz: *x\n", R"({"x":{"a":1},"z":{"a":1}})"},
      {"- &k key\n- {*k : v}\n", R"(["key",{"key":"v"}])"},
      {"x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3\n", R"({"x":{"a":1,"b":2},"z":{"a":1,"b":3}})"},
      {"x: &x {a: 1, b: 2}\nz:\n  <<: [*x, {a: 5, c: 6}]\n", R"({"x":{"a":1,"b":2},"z":{"a":1,"b":2,"c":6}})"},
      {"x: &x {a: 1}\nz:\n  d: 4\n  <<: *x\n", R"({"x":{"a":1},"z":{"d":4,"a":1}})"},
      {"z:\n  \"<<\": 1\n", R"({"z":{"<<":1}})"},
      {"z: <<\n", R"({"z":"<<"})"},
      {"x: &x {b: 2}\nz:\n  b: 3\n  <<: *x\n",
       "failure: line 4, column 7: << would overwrite 'b', which stands before it; write << first"},
      {"z:\n  <<: 5\n", "failure: line 2, column 7: << merges a map, or a list of maps"},
      {"z:\n  <<: {a: 1}\n  <<: {b: 1}\n",
       "failure: line 3, column 3: only one << is allowed in a map; write << : [*a, *b]"},
      {"z:\n  <<: {a: 1}\n  a: 2\n  a: 3\n", "failure: line 4, column 3: duplicate key 'a'"},
      {"a: &a [*a]\n", "failure: line 1, column 8: an alias inside the value that it names"},
      {"a: *nobody\n", "failure: line 1, column 4: an alias (*name) without an anchor (&name) before it"},
      {"--- &a x\n---\n- *a\n", "failure: line 3, column 3: an alias (*name) without an anchor (&name) before it"},
  };
  for (const Row& row : rows) EXPECT_EQ(json(row.text), row.expected) << row.text;
}

TEST(Yaml, FailuresNameThePlace) {
  const std::vector<Row> rows = {
      {"a: 1\nb: 2\na: 3\n", "line 3, column 1: duplicate key 'a'"},
      {"m: {x: 1, x: 2}\n", "line 1, column 11: duplicate key 'x'"},
      {"? [a]\n: b\n", "line 1, column 3: a key must be plain text, not a list or a map"},
      {"{a: b}: c\n", "line 1, column 1: a key must be plain text, not a list or a map"},
      {"~: 1\n", "line 1, column 1: '' is null, which cannot be a key; quote it"},
      {"1.5: 1\n", "line 1, column 1: '1.5' is a number, which cannot be a key; quote it"},
      {"a: !!int abc\n", "line 1, column 4: 'abc' does not fit its tag tag:yaml.org,2002:int"},
      {"a: !!binary aGk=\n", "line 1, column 4: 'aGk=' does not fit its tag tag:yaml.org,2002:binary"},
      {"a:\n\t- 1\n", "line 2, column 2: a '-' that cannot be here; check the indentation, which must be spaces"},
      {"a: b\n- c\n",
       "line 2, column 1: this line does not belong to the map above; check its indentation and its ':'"},
      {"a: b: c\n", "line 1, column 5: a ':' that cannot be here; quote the text or check the indentation"},
      {"a: [1, 2\n", "line 2, column 1: a ']' or ',' is missing"},
      {"a: 1\n]\n", "line 2, column 1: a ']' or '}' that cannot be here; quote the text"},
      {"a: \x07\n", "line 1, column 4: control character U+0007; use an escape in double quotes"},
      {"\xc3\xa9: \xc3\xa9\nb\xc3\xa9: {a: 1, a: 2}\n", "line 2, column 12: duplicate key 'a'"},
      {"ok: \xff\n", "line 1, column 5: byte 0xff is not UTF-8"},
      {"\"x\"\ny: 1\n", "line 2, column 1: text after the end of the value; check the indentation of this line"},
  };
  for (const Row& row : rows) {
    const auto roots = parseYaml(row.text);
    ASSERT_FALSE(roots) << row.text << " gave " << json(row.text);
    EXPECT_EQ(roots.error().error.sentence, row.expected) << row.text;
    EXPECT_EQ(roots.error().error.code, Code::invalid);
    EXPECT_TRUE(roots.error().error.sentence.starts_with("line " + std::to_string(roots.error().position.line) +
                                                         ", column " + std::to_string(roots.error().position.column) +
                                                         ": "));
  }
}

TEST(Yaml, ABrokenDocumentLeavesTheOthers) {
  const Documents read = parseYamlDocuments(
      "%YAML 1.1\n# c\n---\na: 1\n--- # c\nb: [\n---\nc: 3\nc: 4\n---x: 5\n---\nd: &d 4\n---\ne: *d\n");
  ASSERT_EQ(read.nodes.size(), 2U);
  EXPECT_EQ(dumpJson(read.nodes[0]) + dumpJson(read.nodes[1]), R"({"a":1}{"d":4})");
  EXPECT_EQ(read.nodes[1].find("d")->position, (Position{12, 4}));
  std::vector<std::string> failures;
  for (const Failure& failure : read.failures) {
    failures.push_back(std::to_string(failure.position.line) + " " + failure.problem());
  }
  EXPECT_THAT(failures, testing::ElementsAre("7 a ']' or ',' is missing", "9 duplicate key 'c'",
                                             "14 an alias (*name) without an anchor (&name) before it"));
}

TEST(Yaml, CommentsThatAreNoTextAreAFailure) {
  const auto documents = parseYamlDocuments("# caf\xe9\n---\na: 1\n");
  EXPECT_EQ(documents.nodes.size(), 1U);
  ASSERT_EQ(documents.failures.size(), 1U);
  EXPECT_EQ(documents.failures[0].position, (Position{1, 6}));
  EXPECT_EQ(parseYamlDocuments("%YAML 1.1 \xc1").failures.size(), 1U);
}

TEST(Yaml, ADirectiveBelongsToTheDocumentAfterIt) {
  const auto good = parseYamlDocuments("# c\n%YAML 1.1\n---\na: 1\n---\nb: [\n");
  EXPECT_EQ(good.nodes.size(), 1U);
  ASSERT_EQ(good.failures.size(), 1U);
  EXPECT_GE(good.failures[0].position.line, 6U);
  const auto bad = parseYamlDocuments("%YAML 99999999999.1\n---\na: 1\n---\nb: 2\n");
  ASSERT_EQ(bad.nodes.size(), 1U);
  EXPECT_NE(bad.nodes[0].find("b"), nullptr);
  EXPECT_EQ(bad.failures.size(), 1U);
}

TEST(Yaml, BrokenDocumentsAreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "---\n]\n";
  EXPECT_EQ(parseYamlDocuments(text).failures.size(), 32U);
  Caps caps;
  caps.nodes = 5;
  const Documents read = parseYamlDocuments("[1, 2, 3]\n---\n[4]\n---\n]\n", caps);
  EXPECT_EQ(read.nodes.size(), 1U) << "the cap counts for all documents together";
  EXPECT_EQ(read.failures.size(), 2U);
}

// A file that is read while it is written ends anywhere.
TEST(Yaml, HalfAFileIsNotAWholeOne) {
  const std::vector<Row> rows = {
      {"a: \"64", "line 1, column 7: the text ends inside a quote"},
      {"a: \"64\n", "line 1, column 4: this quote is not closed"},
      {"a: '64''\n", "line 1, column 4: this quote is not closed"},
      {"a: &x \"6\\\"\n", "line 1, column 7: this quote is not closed"},
      {"a: !x\"6\n", "line 1, column 6: this quote is not closed"},
      {"a: !<x>'6\n", "line 1, column 8: this quote is not closed"},
      {"a: &x !!str \"6\n", "line 1, column 13: this quote is not closed"},
      {"a: 1\n\"b\n", "line 2, column 1: this quote is not closed"},
      {"a: 1\nb", "line 2, column 1: a ':' is missing after this key"},
      {"a: 1\nb\n", "line 2, column 1: a ':' is missing after this key"},
      {"a: 1\n'b'\n",
       "line 2, column 1: this line does not belong to the map above; check its indentation and its ':'"},
      {"a:\n  - b: 1\n    c\nd: 2\n",
       "line 4, column 2: a ':' that cannot be here; quote the text or check the indentation"},
      {"a: [1, ", "line 1, column 8: a ']' or ',' is missing"},
      {"a: {b: 1", "line 1, column 9: a '}' or ',' is missing"},
  };
  for (const Row& row : rows) {
    const auto roots = parseYaml(row.text);
    ASSERT_FALSE(roots) << row.text << " gave " << json(row.text);
    EXPECT_EQ(roots.error().error.sentence, row.expected) << row.text;
  }
}

TEST(Yaml, Positions) {
  const auto roots =
      parseYaml("a: 1\nlist:\n  - x\n  - \"\xc3\xa9\": 'q'\n    n:\nf: {k: [v]}\r\n---\n# c\nb: |\n  t\n");
  ASSERT_TRUE(roots) << roots.error().error.text();
  const Node& first = roots->front();
  EXPECT_EQ(first.position, (Position{1, 1}));
  EXPECT_EQ(first.find("a")->position, (Position{1, 4}));
  EXPECT_EQ(first.members[1].position, (Position{2, 1}));
  EXPECT_EQ(first.find("list")->items[0].position, (Position{3, 5}));
  const Node& map = first.find("list")->items[1];
  EXPECT_EQ(map.position, (Position{4, 5}));
  EXPECT_EQ(map.members[0].value.position, (Position{4, 10}));
  EXPECT_EQ(map.members[1].position, (Position{5, 5}));
  EXPECT_EQ(map.members[1].value.position, (Position{5, 5})) << "a missing value stands at its key";
  EXPECT_EQ(first.find("f")->position, (Position{6, 4}));
  EXPECT_EQ(first.find("f")->find("k")->items[0].position, (Position{6, 9}));
  EXPECT_EQ(roots->at(1).find("b")->position, (Position{9, 4}));
}

TEST(Yaml, ScalarsKeepWhatWasWritten) {
  const auto roots = parseYaml("a: off\nb: 010\nc: '010'\n");
  ASSERT_TRUE(roots);
  EXPECT_EQ(roots->front().find("a")->scalar, "off");
  EXPECT_EQ(roots->front().find("b")->scalar, "010");
  EXPECT_EQ(roots->front().find("b")->kind, Kind::integer);
  EXPECT_EQ(roots->front().find("c")->kind, Kind::string);
}

TEST(Yaml, OurOwnConfigurationHasNoAliases) {
  Caps caps;
  caps.aliases = false;
  EXPECT_EQ(parseYaml("a: &x 1\n", caps).error().error.sentence,
            "line 1, column 4: anchors (&name) are not allowed here; remove it");
  EXPECT_EQ(parseYaml("a: &x [1]\n", caps).error().position, (Position{1, 4}));
  EXPECT_TRUE(parseYaml("a: 'x'\n", caps));
}

}  // namespace
}  // namespace memqos::document
