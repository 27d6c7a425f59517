#include <array>

#include "policy/finding.h"

namespace memqos::policy {
namespace {

constexpr std::array<ReasonInfo, 8> kTable = {{
    {Reason::invalidAnnotation, "InvalidAnnotation", Severity::error,
     "An annotation cannot be used as it is; it alone counts as absent."},
    {Reason::adjustedValue, "AdjustedValue", Severity::warning,
     "A value was moved because it contradicts another one, a limit, a request or a guardrail."},
    {Reason::invalidManifest, "InvalidManifest", Severity::error,
     "A file or object is not what it says it is; the others still count."},
    {Reason::duplicatePod, "DuplicatePod", Severity::warning, "A second manifest of the same pod was ignored."},
    {Reason::invalidConfiguration, "InvalidConfiguration", Severity::error,
     "The agent's configuration cannot be used as it is; the last good one stays."},
    {Reason::unsupported, "Unsupported", Severity::warning, "This node lacks what the knob needs."},
    {Reason::unreclaimable, "Unreclaimable", Severity::warning,
     "Background reclaim finds nothing to take above its mark, or what it takes is wanted back at once."},
    {Reason::floorAboveMark, "FloorAboveMark", Severity::warning,
     "What must be kept (protection, memory that cannot be reclaimed) reaches the mark of background reclaim."},
}};

constexpr bool tableIsIndexed() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].reason) != i) return false;
  }
  return true;
}
static_assert(tableIsIndexed());

const ReasonInfo& info(Reason reason) {
  return kTable[static_cast<std::size_t>(reason)];
}

}  // namespace

std::span<const ReasonInfo> reasons() {
  return kTable;
}
std::string_view name(Reason reason) {
  return info(reason).name;
}
Severity severityOf(Reason reason) {
  return info(reason).severity;
}

}  // namespace memqos::policy
