// A neutral tree that YAML and JSON are read into and written from. Every decoder works against it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace memqos::document {

// Where a value or key starts in its text, from 1, columns counted in characters; {0, 0} for nodes made in code.
struct Position {
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const Position&) const = default;
};

enum class Kind { null, boolean, integer, real, string, list, map };
std::string_view name(Kind kind);  // "a map", "a list", "a string", "a number", "true or false", "null": for sentences

struct Member;

// A value. Scalars keep their text as written (unquoted, unescaped) beside what YAML 1.1 / JSON says they are, because
// Kubernetes' YAML reader decides "on" is a boolean and 010 an octal number, and errors must show what was written.
struct Node {
  Kind kind = Kind::null;
  std::string scalar;           // text of a scalar
  std::vector<Node> items;      // of a list
  std::vector<Member> members;  // of a map, in order of appearance, keys unique
  Position position;

  // Makers for output.
  static Node null();
  static Node boolean(bool value);
  static Node integer(std::int64_t value);
  static Node real(double value);
  static Node string(std::string value);
  static Node list();
  static Node list(std::vector<Node> items);
  static Node map();
  static Node map(std::vector<Member> members);
  Node& set(std::string key, Node value);  // append or replace; makes a null node a map; returns *this
  Node& add(Node value);                   // append to a list; makes a null node a list; returns *this

  [[nodiscard]] const Node* find(std::string_view key) const;  // nullptr: not a map, or no such key
  [[nodiscard]] bool isNull() const { return kind == Kind::null; }
  // Strict views: no coercion. Errors: invalid, naming what was found.
  [[nodiscard]] Result<std::string> asString() const;
  [[nodiscard]] Result<std::int64_t> asInteger() const;
  [[nodiscard]] Result<double> asReal() const;  // integers too
  [[nodiscard]] Result<bool> asBoolean() const;
  // The text of a scalar after Kubernetes turned its YAML into JSON: 010 -> "8", 1_000 -> "1000", 1e3 -> "1000",
  // on -> "true"; strings as they are; "" for null, lists and maps.
  [[nodiscard]] std::string jsonText() const;
};

struct Member {
  std::string key;
  Position position;  // of the key
  Node value;
};

// What may be read; over a cap is an error, never a truncation.
struct Caps {
  std::size_t bytes = std::size_t{16} * 1024 * 1024;
  std::size_t depth = 64;
  std::size_t nodes = 1'000'000;  // after aliases are expanded
  bool aliases = true;            // YAML anchors and aliases; our own configuration refuses them
};

// A parse error's sentence starts with "line L, column C: " and says what would be right; Failure carries the place
// too.
struct Failure {
  Position position;
  Error error;
  [[nodiscard]] std::string problem() const;  // the sentence without the place
};
template <typename T>
using Parsed = tl::expected<T, Failure>;

// All documents of a YAML stream (YAML 1.1 as sigs.k8s.io/yaml reads it; JSON is YAML, so JSON files may come here
// too). Empty documents are left out. Duplicate keys, keys that JSON cannot have, too much depth, size or aliases are
// failures. Merge keys (<<) are merged; a merge that would overwrite a key written before it is a failure, because
// readers differ.
Parsed<std::vector<Node>> parseYaml(std::string_view text, const Caps& caps = {});
// The same, but a document that cannot be read does not take the others with it; at most 32 failures, then the rest is
// left.
struct Documents {
  std::vector<Node> nodes;
  std::vector<Failure> failures;
};
Documents parseYamlDocuments(std::string_view text, const Caps& caps = {});
// One JSON value (RFC 8259, strict; a BOM or trailing text is a failure).
Parsed<Node> parseJson(std::string_view text, const Caps& caps = {});

// Text of a tree. JSON: indent < 0 is compact. Invalid UTF-8 is replaced, so that the output is always valid;
// in YAML noncharacters such as U+FFFF too.
std::string dumpJson(const Node& node, int indent = -1);
std::string dumpYaml(const Node& node);

}  // namespace memqos::document
