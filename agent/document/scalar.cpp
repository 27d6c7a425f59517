#include "document/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace memqos::document {
namespace {

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}
constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kNan = {".nan", ".NaN", ".NAN"};
constexpr std::array<std::string_view, 3> kInfinity = {".inf", ".Inf", ".INF"};

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isSign(char c) {
  return c == '+' || c == '-';
}

std::string withoutUnderscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

std::size_t digitsAt(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && isDigit(text[at + count])) ++count;
  return count;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool isDecimal(std::string_view text) {
  std::size_t at = !text.empty() && isSign(text[0]) ? 1 : 0;
  const std::size_t whole = digitsAt(text, at);
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digitsAt(text, ++at);
    if (whole + fraction == 0) return false;
    at += fraction;
  } else if (whole == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && isSign(text[at])) ++at;
    const std::size_t exponent = digitsAt(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

}  // namespace

std::string Integer::text() const {
  return fmt::format("{}{}", negative && magnitude != 0 ? "-" : "", magnitude);
}

bool isPrintable(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7F) || c == 0x85 ||
         (c >= 0xA0 && c <= 0xFFFD && c != 0xFEFF) || c >= 0x10000;
}

std::optional<bool> parseBoolean(std::string_view text) {
  if (isOneOf(text, kTrue)) return true;
  if (isOneOf(text, kFalse)) return false;
  return std::nullopt;
}

std::optional<Integer> parseInteger(std::string_view text) {
  if (text.empty() || (!isDigit(text[0]) && !isSign(text[0]))) return std::nullopt;
  const std::string plain = withoutUnderscores(text);
  std::string_view digits = plain;
  Integer out;
  if (isSign(digits[0])) {
    out.negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = digits[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    digits.remove_prefix(base != 8 || mark == 'o' || mark == 'O' ? 2 : 1);
  }
  if (digits.empty()) return std::nullopt;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out.magnitude, base);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  constexpr auto kMostNegative = std::uint64_t{1} << 63;
  if (out.negative && out.magnitude > kMostNegative) return std::nullopt;
  return out;
}

std::optional<double> parseReal(std::string_view text) {
  if (isOneOf(text, kNan)) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = !text.empty() && text[0] == '-';
  if (isOneOf(text.substr(!text.empty() && isSign(text[0]) ? 1 : 0), kInfinity)) {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (text.empty() || (!isDigit(text[0]) && !isSign(text[0]) && text[0] != '.')) return std::nullopt;
  // A leading point is a number only without underscores.
  const std::string plain = text[0] == '.' ? std::string(text) : withoutUnderscores(text);
  if (!isDecimal(plain)) return std::nullopt;
  const std::string_view digits = std::string_view(plain).substr(plain[0] == '+' ? 1 : 0);
  double value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) {
    value =
        std::strtod(plain.c_str(), nullptr);  // from_chars does not say which: an underflow is 0, an overflow no number
    if (std::abs(value) < 1) return value;
  }
  if (parsed.ec != std::errc{}) return std::nullopt;
  return value;
}

Kind resolvePlain(std::string_view text) {
  if (isOneOf(text, kNull)) return Kind::null;
  if (parseBoolean(text)) return Kind::boolean;
  if (parseInteger(text)) return Kind::integer;
  if (parseReal(text)) return Kind::real;
  return Kind::string;
}

}  // namespace memqos::document
