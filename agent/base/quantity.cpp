#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace memqos {
namespace {

__extension__ using Wide = __int128;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// What follows the digits: value = number * 2^binary * 10^decimal.
struct Suffix {
  int binary = 0;
  int decimal = 0;
};

std::optional<Suffix> parseSuffix(std::string_view text) {
  struct Row {
    std::string_view text;
    Suffix suffix;
  };
  static constexpr std::array<Row, 16> kTable = {{{"", {0, 0}},
                                                  {"n", {0, -9}},
                                                  {"u", {0, -6}},
                                                  {"m", {0, -3}},
                                                  {"k", {0, 3}},
                                                  {"M", {0, 6}},
                                                  {"G", {0, 9}},
                                                  {"T", {0, 12}},
                                                  {"P", {0, 15}},
                                                  {"E", {0, 18}},
                                                  {"Ki", {10, 0}},
                                                  {"Mi", {20, 0}},
                                                  {"Gi", {30, 0}},
                                                  {"Ti", {40, 0}},
                                                  {"Pi", {50, 0}},
                                                  {"Ei", {60, 0}}}};
  for (const Row& row : kTable) {
    if (row.text == text) return row.suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  const bool negative = digits[0] == '-';
  if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), isDigit)) return std::nullopt;
  int exponent = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (parsed.ec != std::errc{} || exponent > 10000) exponent = 10000;  // far beyond what can be held either way
  return Suffix{0, negative ? -exponent : exponent};
}

// |value| so far, kept exact while it fits; beyond that only "too large" matters.
struct Magnitude {
  Wide value = 0;
  bool tooLarge = false;
  bool rest = false;  // a non-zero fraction was cut off

  void multiply(int factor) {
    if (value > (Wide{1} << 100)) tooLarge = true;
    if (!tooLarge) value *= factor;
  }
  void divideByTen() {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
};

struct Number {
  std::string digits;  // integer and fraction digits without leading zeros
  int decimal = 0;     // power of ten of the last digit
};

Bytes finish(const Magnitude& magnitude, bool negative) {
  const Wide value = magnitude.value + (magnitude.rest ? 1 : 0);
  return {static_cast<std::int64_t>(negative ? -value : value)};
}

tl::unexpected<Error> notAQuantity(std::string_view text) {
  return fail(Code::invalid, fmt::format("'{}' is not a quantity of bytes; write e.g. 64Mi, 1.5Gi, 500M or 128974848",
                                         text.substr(0, 64)));
}

// The value times 10^shift.
Result<Bytes> parseShifted(std::string_view text, int shift) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  Number number;
  bool any = false;
  bool fraction = false;
  while (!rest.empty() && (isDigit(rest[0]) || (rest[0] == '.' && !fraction))) {
    if (rest[0] == '.') {
      fraction = true;
    } else {
      any = true;
      if (fraction) --number.decimal;
      if (rest[0] != '0' || !number.digits.empty()) number.digits += rest[0];
    }
    rest.remove_prefix(1);
  }
  const auto suffix = parseSuffix(rest);
  if (!any || !suffix || text.size() > 4096) return notAQuantity(text);

  Magnitude magnitude;
  for (const char digit : number.digits) {
    magnitude.multiply(10);
    if (!magnitude.tooLarge) magnitude.value += digit - '0';
  }
  int decimal = number.decimal + suffix->decimal + shift;
  // Digits that a negative exponent takes away again do not make a number too large.
  if (magnitude.tooLarge && decimal < 0) {
    magnitude = {};
    const auto keep = static_cast<std::ptrdiff_t>(number.digits.size()) + decimal;
    for (std::size_t i = 0; i < number.digits.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) >= keep + 25) {
        magnitude.rest = magnitude.rest || number.digits[i] != '0';
        ++decimal;
        continue;
      }
      magnitude.multiply(10);
      if (!magnitude.tooLarge) magnitude.value += number.digits[i] - '0';
    }
  }
  for (int i = 0; i < suffix->binary; ++i) magnitude.multiply(2);
  for (; decimal > 0 && !magnitude.tooLarge && magnitude.value != 0; --decimal) magnitude.multiply(10);
  for (; decimal < 0 && magnitude.value != 0; ++decimal) magnitude.divideByTen();

  if (magnitude.tooLarge || magnitude.value > std::numeric_limits<std::int64_t>::max() - 1) {
    return fail(Code::invalid, fmt::format("'{}' is too large; the most is 8Ei - 1", text.substr(0, 64)));
  }
  return finish(magnitude, negative);
}

}  // namespace

Result<Bytes> parseQuantity(std::string_view text) {
  return parseShifted(text, 0);
}

Result<std::int64_t> parseMilliQuantity(std::string_view text) {
  const auto parsed = parseShifted(text, 3);
  if (!parsed) return tl::unexpected<Error>(parsed.error());
  return parsed->count;
}

Bytes Percent::of(Bytes whole) const {
  constexpr Wide kWhole = Wide{100} * 1'000'000'000;
  const Wide product = Wide{whole.count} * billionths;
  return {static_cast<std::int64_t>((product + kWhole - 1) / kWhole)};
}

Result<Percent> parsePercent(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::invalid, fmt::format("'{}' is not a percentage; write e.g. 50% or 12.5%", text.substr(0, 64)));
  };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative) rest.remove_prefix(1);
  if (rest.size() < 2 || rest.back() != '%') return bad();
  rest.remove_suffix(1);
  std::int64_t value = 0;
  int decimals = -1;
  bool any = false;
  for (const char c : rest) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (!isDigit(c) || decimals == 9) return bad();
    any = true;
    value = std::min<std::int64_t>(value * 10 + (c - '0'), 1'000'000'000'000'000);
    if (decimals >= 0) ++decimals;
  }
  if (!any) return bad();
  for (int i = std::max(decimals, 0); i < 9; ++i) value = std::min<std::int64_t>(value, 1'000'000'000'000) * 10;
  if ((negative && value != 0) || value > 100'000'000'000) {
    return fail(Code::invalid, fmt::format("'{}' is outside 0% to 100%", text.substr(0, 64)));
  }
  return Percent{value};
}

}  // namespace memqos
