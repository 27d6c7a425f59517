// Kubernetes quantities and percentages, exact.
#pragma once

#include <string_view>

#include "base/units.h"

namespace memqos {

// A Kubernetes quantity (k8s.io/apimachinery resource.Quantity) in bytes: digits with optional fraction, and one of
// n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent (129e6, 1E3). A fraction of a byte rounds up, away from
// zero, as Kubernetes' Value() does. May be negative. Errors: invalid (grammar), invalid with "too large" (int64).
Result<Bytes> parseQuantity(std::string_view text);
// The same grammar in thousandths, rounded up: cpu, whose unit is a core ("500m" -> 500, "2" -> 2000).
Result<std::int64_t> parseMilliQuantity(std::string_view text);

// A decimal percentage between 0 and 100.
struct Percent {
  std::int64_t billionths = 0;  // 100 % = 1'000'000'000 * 100
  auto operator<=>(const Percent&) const = default;
  // This share of `whole`, rounded up to a byte.
  [[nodiscard]] Bytes of(Bytes whole) const;
};

// "50%", "12.5%"; at most nine decimals. Errors: invalid (grammar, or outside 0 to 100).
Result<Percent> parsePercent(std::string_view text);

}  // namespace memqos
