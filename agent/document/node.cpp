#include "document/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "document/scalar.h"

namespace memqos::document {
namespace {

Node scalarNode(Kind kind, std::string text) {
  Node node;
  node.kind = kind;
  node.scalar = std::move(text);
  return node;
}

tl::unexpected<Error> wrongKind(const Node& node, std::string_view wanted) {
  if (node.scalar.empty()) return fail(Code::invalid, fmt::format("expected {}, found {}", wanted, name(node.kind)));
  return fail(Code::invalid,
              fmt::format("expected {}, found {}: {}", wanted, name(node.kind), node.scalar.substr(0, 64)));
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
    case Kind::real:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "null";
}

Node Node::null() {
  return {};
}
Node Node::list() {
  return list(std::vector<Node>());
}
Node Node::map() {
  return map(std::vector<Member>());
}
Node Node::boolean(bool value) {
  return scalarNode(Kind::boolean, value ? "true" : "false");
}
Node Node::integer(std::int64_t value) {
  return scalarNode(Kind::integer, fmt::format("{}", value));
}
Node Node::real(double value) {
  if (std::isnan(value)) return scalarNode(Kind::real, ".nan");
  if (std::isinf(value)) return scalarNode(Kind::real, value < 0 ? "-.inf" : ".inf");
  return scalarNode(Kind::real, fmt::format("{}", value));
}
Node Node::string(std::string value) {
  return scalarNode(Kind::string, std::move(value));
}

Node Node::list(std::vector<Node> items) {
  Node node;
  node.kind = Kind::list;
  node.items = std::move(items);
  return node;
}

Node Node::map(std::vector<Member> members) {
  Node node;
  node.kind = Kind::map;
  node.members = std::move(members);
  return node;
}

Node& Node::set(std::string key, Node value) {
  if (kind == Kind::null) kind = Kind::map;
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  if (found != members.end()) {
    found->value = std::move(value);
  } else {
    members.push_back({std::move(key), {}, std::move(value)});
  }
  return *this;
}

Node& Node::add(Node value) {
  if (kind == Kind::null) kind = Kind::list;
  items.push_back(std::move(value));
  return *this;
}

const Node* Node::find(std::string_view key) const {
  if (kind != Kind::map) return nullptr;
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Result<std::string> Node::asString() const {
  if (kind != Kind::string) return wrongKind(*this, "a string");
  return scalar;
}

Result<std::int64_t> Node::asInteger() const {
  if (kind != Kind::integer) return wrongKind(*this, "a whole number");
  const auto parsed = parseInteger(scalar);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!parsed || (!parsed->negative && parsed->magnitude > kMost)) {
    return fail(Code::invalid, fmt::format("{} is out of range", scalar.substr(0, 64)));
  }
  // Two's complement: right for the most negative number too.
  return static_cast<std::int64_t>(parsed->negative ? std::uint64_t{0} - parsed->magnitude : parsed->magnitude);
}

Result<double> Node::asReal() const {
  if (kind == Kind::integer) {
    if (const auto parsed = parseInteger(scalar)) {
      const auto value = static_cast<double>(parsed->magnitude);
      return parsed->negative ? -value : value;
    }
  }
  if (kind != Kind::real && kind != Kind::integer) return wrongKind(*this, "a number");
  const auto parsed = parseReal(scalar);
  if (!parsed) return fail(Code::invalid, fmt::format("{} is out of range", scalar.substr(0, 64)));
  return *parsed;
}

Result<bool> Node::asBoolean() const {
  if (kind != Kind::boolean) return wrongKind(*this, "true or false");
  return parseBoolean(scalar).value_or(false);
}

std::string Node::jsonText() const {
  switch (kind) {
    case Kind::null:
    case Kind::list:
    case Kind::map:
      return "";
    case Kind::string:
      return scalar;
    case Kind::boolean:
      return parseBoolean(scalar).value_or(false) ? "true" : "false";
    case Kind::integer:
      if (const auto parsed = parseInteger(scalar)) return parsed->text();
      return scalar;
    case Kind::real: {
      const auto parsed = parseReal(scalar);
      if (!parsed || !std::isfinite(*parsed)) return scalar;
      return std::abs(*parsed) < 1e21 && *parsed == std::floor(*parsed) ? fmt::format("{:.0f}", *parsed)
                                                                        : fmt::format("{}", *parsed);
    }
  }
  return "";
}

}  // namespace memqos::document
