// Amounts of memory, with their unit in the type.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"

namespace memqos {

// A number of bytes, never negative in practice; int64 because Kubernetes quantities are.
struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
  // Saturate instead of wrapping: sums of outside values may be absurd.
  friend Bytes operator+(Bytes a, Bytes b);
  friend Bytes operator-(Bytes a, Bytes b);
  Bytes& operator+=(Bytes other) { return *this = *this + other; }
  Bytes& operator-=(Bytes other) { return *this = *this - other; }
  // Down, or up, to a multiple of `unit` (> 0).
  [[nodiscard]] Bytes roundDown(Bytes unit) const { return {count - count % unit.count}; }
  [[nodiscard]] Bytes roundUp(Bytes unit) const;
};

constexpr Bytes kKiB{1024};
constexpr Bytes kMiB{1024 * 1024};
constexpr Bytes kGiB{1024LL * 1024 * 1024};
constexpr Bytes mebibytes(std::int64_t n) {
  return {n * kMiB.count};
}
constexpr Bytes kPage{4096};  // the base page size of x86-64 and of arm64 as distributions build it

// a * numerator / denominator in 128 bit, rounded down, saturated; denominator > 0.
Bytes scale(Bytes a, std::int64_t numerator, std::int64_t denominator);

// The value of a cgroup file that takes bytes or "max". "max" is greater than every number.
// Flags (memory.oom.group) are Limits of 0 and 1.
class Limit {
 public:
  constexpr Limit() = default;                     // 0
  constexpr Limit(Bytes bytes) : bytes_(bytes) {}  // NOLINT(google-explicit-constructor): a number is a limit
  static constexpr Limit max() { return Limit(true); }
  [[nodiscard]] constexpr bool isMax() const { return max_; }
  // The number; for max the greatest number, so that min() and comparisons just work.
  [[nodiscard]] constexpr Bytes bytes() const {
    return max_ ? Bytes{std::numeric_limits<std::int64_t>::max()} : bytes_;
  }
  constexpr auto operator<=>(const Limit& other) const { return bytes() <=> other.bytes(); }
  constexpr bool operator==(const Limit& other) const { return bytes() == other.bytes(); }

 private:
  explicit constexpr Limit(bool isMaximum) : max_(isMaximum) {}
  Bytes bytes_{};
  bool max_ = false;
};

// The text that the kernel takes and gives: "max" or the number, without newline.
std::string toText(Limit limit);
// What a kernel file holds: "max", a number, surrounding white space allowed. Numbers beyond int64 (v1's
// "no limit", an underflown counter) are max. Errors: invalid (empty, junk).
Result<Limit> parseLimit(std::string_view text);
// For people: "64Mi", "1.5Gi", "max"; exact multiples only get a suffix, others print as "123456".
std::string toHuman(Limit limit);

}  // namespace memqos
