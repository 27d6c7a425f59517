// What a plain YAML scalar is to Kubernetes' reader (sigs.k8s.io/yaml on go-yaml v2), and numbers in its grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "document/node.h"

namespace memqos::document {

// null, boolean, integer, real or string. go-yaml v2's rules, seen on sigs.k8s.io/yaml 1.6: y, yes, on are booleans;
// 010, 0x10, 0o17, 0b101, 1_000 integers; 08, 1e3, .5, .inf reals; 1e999, 0x1p3, timestamps and 1:30 strings.
Kind resolvePlain(std::string_view text);

// Whether YAML text may have the character unescaped (YAML 1.1, c-printable): most control characters are not.
bool isPrintable(char32_t c);

// The value of a boolean's text; nullopt for other texts.
std::optional<bool> parseBoolean(std::string_view text);
// A number's sign and magnitude in go-yaml's integer grammar; nullopt: not one, or beyond 64 bits.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
  [[nodiscard]] std::string text() const;  // decimal
};
std::optional<Integer> parseInteger(std::string_view text);
// The value of a real's (or decimal integer's) text, .inf and .nan included; nullopt for other texts and overflow.
std::optional<double> parseReal(std::string_view text);

}  // namespace memqos::document
