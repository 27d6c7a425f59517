#include "config/binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policy/suggest.h"

namespace memqos::config {

using document::Kind;
using document::Member;
using policy::inQuotes;

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? policy::kept(key) : fmt::format("{}.{}", path, policy::kept(key));
}

void Binder::add(document::Position position, const std::string& key, const std::string& value, std::string problem,
                 std::string advice) {
  policy::Finding finding;
  finding.reason = policy::Reason::invalidConfiguration;
  finding.key = key;
  finding.value = policy::kept(value);
  finding.problem = std::move(problem);
  finding.advice = std::move(advice);
  finding.source = {file_, position, ""};
  findings_.push_back(std::move(finding));
}

void Binder::bad(const Node& node, const std::string& path, std::string problem, std::string advice) {
  add(node.position, path, node.scalar, std::move(problem), std::move(advice));
}

void Binder::badKey(const Member& member, const std::string& path, std::string problem, std::string advice) {
  add(member.position, path, member.value.scalar, std::move(problem), std::move(advice));
}

void Binder::wrongKind(const Node& node, const std::string& path, std::string_view wanted, std::string advice) {
  const std::string_view found = node.kind == Kind::boolean ? "a boolean" : name(node.kind);
  bad(node, path, fmt::format("this is {}, not {}", found, wanted), std::move(advice));
}

void Binder::entries(const Node& node, const std::string& path, const ReadEntry& read) {
  if (node.isNull()) return;
  if (node.kind != Kind::map) return wrongKind(node, path, "a map", "write a map");
  for (const Member& member : node.members) read(member, join(path, member.key));
}

void Binder::map(const Node& node, const std::string& path, std::span<const Key> keys) {
  entries(node, path, [&](const Member& member, const std::string& at) {
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == member.key; });
    if (known != keys.end()) return known->read(member.value, at);
    std::vector<std::string_view> names;
    names.reserve(keys.size());
    for (const Key& key : keys) names.push_back(key.name);
    badKey(member, at, "there is no such key", policy::didYouMean(member.key, names));
  });
}

void Binder::list(const Node& node, const std::string& path, const Read& read) {
  if (node.kind != Kind::list) return wrongKind(node, path, "a list", "write a list");
  for (std::size_t i = 0; i < node.items.size(); ++i) read(node.items[i], fmt::format("{}[{}]", path, i));
}

std::optional<bool> Binder::boolean(const Node& node, const std::string& path) {
  if (const auto value = node.asBoolean()) return *value;
  wrongKind(node, path, "true or false", "write true or false, without quotes");
  return std::nullopt;
}

std::optional<std::string> Binder::string(const Node& node, const std::string& path, std::string_view example) {
  if (auto value = node.asString()) return *std::move(value);
  wrongKind(node, path, "a string", fmt::format("write e.g. \"{}\"", example));
  return std::nullopt;
}

std::optional<std::int64_t> Binder::integer(const Node& node, const std::string& path, std::int64_t least,
                                            std::int64_t most) {
  const std::string advice = fmt::format("write a whole number from {} to {}", least, most);
  if (node.kind != Kind::integer) {
    wrongKind(node, path, "a whole number", advice);
    return std::nullopt;
  }
  const auto value = node.asInteger();
  if (value && *value >= least && *value <= most) return *value;
  bad(node, path, fmt::format("{} is out of range", inQuotes(node.scalar)), advice);
  return std::nullopt;
}

std::optional<std::size_t> Binder::word(const Node& node, const std::string& path,
                                        std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), node.scalar);
  if (node.kind == Kind::string && found != words.end()) return static_cast<std::size_t>(found - words.begin());
  if (node.kind == Kind::string) {
    bad(node, path, fmt::format("{} is not one of the words", inQuotes(node.scalar)),
        policy::didYouMean(node.scalar, words));
  } else {
    wrongKind(node, path, "a word", fmt::format("use one of {}", fmt::join(words, ", ")));
  }
  return std::nullopt;
}

std::optional<std::int64_t> Binder::share(const Node& node, const std::string& path, int decimals) {
  const std::string advice = fmt::format("write a number from 0 to 1 with at most {} decimals, e.g. 0.8", decimals);
  if (node.kind != Kind::integer && node.kind != Kind::real) {
    wrongKind(node, path, "a number", advice);
    return std::nullopt;
  }
  std::int64_t value = 0;
  int scale = -1;  // decimals so far; -1 before the point
  bool good = !node.scalar.empty() && node.scalar != ".";
  for (const char c : node.scalar) {
    if (c == '.' && scale < 0) {
      scale = 0;
    } else if (c >= '0' && c <= '9' && scale < decimals) {
      value = std::min<std::int64_t>(value * 10 + (c - '0'), 1'000'000'000'000'000);
      if (scale >= 0) ++scale;
    } else {
      good = good && c == '0' && scale >= decimals;  // zeros at the end change nothing
    }
  }
  std::int64_t one = 1;
  for (int i = 0; i < decimals; ++i) one *= 10;
  for (int i = std::max(scale, 0); i < decimals; ++i) value = std::min<std::int64_t>(value, one) * 10;
  if (good && value <= one) return value;
  bad(node, path, fmt::format("{} is not a share", inQuotes(node.scalar)), advice);
  return std::nullopt;
}

}  // namespace memqos::config
