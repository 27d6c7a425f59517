#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace memqos {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Bytes saturate(Wide value) {
  if (value > kMost) return {kMost};
  if (value < kLeast) return {kLeast};
  return {static_cast<std::int64_t>(value)};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

Bytes operator+(Bytes a, Bytes b) {
  return saturate(Wide{a.count} + b.count);
}
Bytes operator-(Bytes a, Bytes b) {
  return saturate(Wide{a.count} - b.count);
}

Bytes Bytes::roundUp(Bytes unit) const {
  const std::int64_t rest = count % unit.count;
  return rest == 0 ? *this : Bytes{count} + Bytes{unit.count - rest};
}

Bytes scale(Bytes a, std::int64_t numerator, std::int64_t denominator) {
  return saturate(Wide{a.count} * numerator / denominator);
}

std::string toText(Limit limit) {
  return limit.isMax() ? "max" : std::to_string(limit.bytes().count);
}

Result<Limit> parseLimit(std::string_view text) {
  const std::string_view value = trim(text);
  if (value == "max") return Limit::max();
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || end != value.data() + value.size() || status == std::errc::invalid_argument) {
    return fail(Code::invalid, fmt::format("'{}' is neither a number of bytes nor \"max\"", value.substr(0, 64)));
  }
  if (status == std::errc::result_out_of_range || number > static_cast<std::uint64_t>(kMost)) return Limit::max();
  return Limit(Bytes{static_cast<std::int64_t>(number)});
}

std::string toHuman(Limit limit) {
  if (limit.isMax()) return "max";
  std::int64_t count = limit.bytes().count;
  constexpr std::array<std::string_view, 6> kSuffix = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t index = 0;
  while (count != 0 && count % 1024 == 0 && index + 1 < kSuffix.size()) {
    count /= 1024;
    ++index;
  }
  return fmt::format("{}{}", count, kSuffix[index]);
}

}  // namespace memqos
