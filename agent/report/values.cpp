#include "report/values.h"

#include <fmt/format.h>

#include <array>

namespace memqos::report {

using document::Node;

Node limitNode(Limit limit) {
  return limit.isMax() ? Node::string("max") : Node::integer(limit.bytes().count);
}

Node fileValueNode(cgroup::File file, Limit value) {
  return cgroup::isFlag(file) ? Node::boolean(value.bytes().count != 0) : limitNode(value);
}

Node valueNode(const policy::KnobValue& value) {
  if (const auto* limit = std::get_if<Limit>(&value)) return limitNode(*limit);
  if (const auto* flag = std::get_if<bool>(&value)) return Node::boolean(*flag);
  return Node::string(std::get<std::string>(value));
}

std::string cell(const Node& row, std::string_view key) {
  const Node* value = row.find(key);
  if (value == nullptr) return {};
  if (value->kind == document::Kind::integer) {
    if (const auto count = value->asInteger()) return toHuman(Limit(Bytes{*count}));
  }
  return field(row, key);
}

std::string field(const Node& row, std::string_view key) {
  const Node* value = row.find(key);
  if (value == nullptr || value->isNull() || value->kind == document::Kind::list ||
      value->kind == document::Kind::map) {
    return {};
  }
  return value->scalar;
}

const std::vector<Node>& itemsOf(const Node& node, std::string_view key) {
  static const std::vector<Node> kNone;
  const Node* value = node.find(key);
  return value == nullptr ? kNone : value->items;
}

std::string yesNo(const Node& row, std::string_view key) {
  const Node* value = row.find(key);
  if (value == nullptr) return {};
  const auto flag = value->asBoolean();
  return !flag ? std::string() : *flag ? "yes" : "no";
}

std::string about(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kSuffix = {"Ki", "Mi", "Gi", "Ti", "Pi"};
  if (bytes < kKiB) return std::to_string(bytes.count);
  auto value = static_cast<double>(bytes.count) / 1024;
  std::size_t index = 0;
  while (value >= 1023.95 && index + 1 < kSuffix.size()) {
    value /= 1024;
    ++index;
  }
  return fmt::format("{:.1f}{}", value, kSuffix[index]);
}

}  // namespace memqos::report
