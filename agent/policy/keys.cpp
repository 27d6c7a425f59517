#include "policy/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "policy/finding.h"
#include "policy/knobs.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

// 253 characters of prefix, a slash and 63 of name: what Kubernetes admits as a key.
constexpr std::size_t kLongestKey = 317;

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool isWord(std::string_view word) {
  return word == kManaged || word == kCgroup || findKnob(word);
}

// Whether a prefix was meant to be memqos.io, beside this word. Another domain that only resembles ours counts only
// with a word that nobody else would use: `class` and `reclaim` are anybody's.
bool isOurs(std::string_view domain, std::string_view word) {
  if (!isWord(word)) return false;
  if (domain.find("memqos") != std::string_view::npos) return true;
  constexpr std::array<std::string_view, 1> kOurs = {kDomain};
  return word.find('-') != std::string_view::npos && nearest(domain, kOurs);
}

// `lower` is the key in lower case.
std::optional<std::string> meantKey(std::string_view lower) {
  const auto slash = lower.find('/');
  if (slash == std::string_view::npos) {
    for (const std::string_view front : {"memqos.io.", "memqos.io-", "memqos.io:", "memqos.", "memqos-"}) {
      if (lower.starts_with(front) && isWord(lower.substr(front.size()))) return podKey(lower.substr(front.size()));
    }
    constexpr std::string_view kBack = ".memqos.io";
    if (!lower.ends_with(kBack)) return std::nullopt;
    const std::string_view word = lower.substr(0, lower.size() - kBack.size());
    if (!isWord(word)) return std::nullopt;
    return podKey(word);
  }
  const std::string_view prefix = lower.substr(0, slash);
  const std::string_view name = lower.substr(slash + 1);
  if (isOurs(prefix, name)) return podKey(name);
  const auto first = prefix.find('.');
  const auto last = prefix.rfind('.');
  if (first == std::string_view::npos) return std::nullopt;
  if (isOurs(prefix.substr(first + 1), prefix.substr(0, first))) return containerKey(prefix.substr(0, first), name);
  if (isOurs(prefix.substr(0, last), prefix.substr(last + 1))) return containerKey(prefix.substr(last + 1), name);
  return std::nullopt;
}

}  // namespace

Key parseKey(std::string_view key) {
  Key out;
  const auto slash = key.find('/');
  const std::string_view prefix = key.substr(0, std::min(slash, key.size()));
  if (slash != std::string_view::npos && prefix == kDomain) {
    out.kind = Key::Kind::pod;
    out.word = key.substr(slash + 1);
    return out;
  }
  constexpr std::string_view kSuffix = ".memqos.io";
  if (slash != std::string_view::npos && prefix.ends_with(kSuffix)) {
    out.kind = Key::Kind::container;
    out.word = prefix.substr(0, prefix.size() - kSuffix.size());
    out.container = key.substr(slash + 1);
    return out;
  }
  if (key.size() > kLongestKey) return out;
  if (const auto meant = meantKey(lowered(key))) {
    out.kind = Key::Kind::stray;
    out.advice = *meant;
  }
  return out;
}

// Also of mistakes in outside text, so escaped.
std::string podKey(std::string_view word) {
  return fmt::format("{}/{}", kDomain, log::escapeJson(cut(word, 64)));
}
std::string containerKey(std::string_view word, std::string_view container) {
  return fmt::format("{}.{}/{}", log::escapeJson(cut(word, 64)), kDomain, log::escapeJson(cut(container, 64)));
}

std::vector<std::string_view> words() {
  std::vector<std::string_view> out;
  for (const KnobInfo& knob : knobs()) out.push_back(knob.name);
  out.push_back(kManaged);
  return out;
}

std::optional<std::string> suggestWord(std::string_view word) {
  if (auto knob = suggestKnob(word)) return knob;
  if (word.size() > kLongestKey) return std::nullopt;
  constexpr std::array<std::string_view, 2> kOthers = {kManaged, kCgroup};
  return nearest(word, kOthers);
}

}  // namespace memqos::policy
