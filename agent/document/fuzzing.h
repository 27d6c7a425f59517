// For this room's fuzz targets: when two trees say the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"
#include "document/node.h"

namespace memqos::document {

// A number may change its text, and a real that is whole its kind, on the way through another notation.
inline bool sameNumber(const Node& a, const Node& b) {
  const auto left = a.asReal();
  const auto right = b.asReal();
  if (!left || !right) return a.scalar == b.scalar;  // beyond what can be held: the text is all there is
  return *left == *right || (std::isnan(*left) && std::isnan(*right));
}

inline bool sameTree(const Node& a, const Node& b) {
  const auto isNumber = [](const Node& node) { return node.kind == Kind::integer || node.kind == Kind::real; };
  if (isNumber(a) && isNumber(b)) return sameNumber(a, b);
  if (a.kind != b.kind || a.jsonText() != b.jsonText()) return false;
  const auto sameMember = [](const Member& x, const Member& y) { return x.key == y.key && sameTree(x.value, y.value); };
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), sameTree) &&
         std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(), sameMember);
}

// U+FFFF and its like, which yaml-cpp's emitter replaces.
inline bool hasNoncharacter(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8Sequence(text);
    const char32_t c = length > 0 ? utf8CodePoint(text.substr(0, length)) : 0;
    if ((c & 0xFFFEU) == 0xFFFEU || (c >= 0xFDD0 && c <= 0xFDEF)) return true;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return false;
}

// JSON has no word for .inf and .nan.
inline bool isFinite(const Node& node) {
  if (node.kind == Kind::real) {
    const auto value = node.asReal();
    return value && std::isfinite(*value);
  }
  return std::all_of(node.items.begin(), node.items.end(), isFinite) &&
         std::all_of(node.members.begin(), node.members.end(), [](const Member& m) { return isFinite(m.value); });
}

}  // namespace memqos::document
