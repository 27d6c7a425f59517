#include "metrics/reference.h"

#include <fmt/format.h>

#include <array>

#include "metrics/families.h"

namespace memqos::metrics {
namespace {

std::string labelsText(const FamilyInfo& row) {
  std::string out;
  const auto append = [&](std::string_view label) { out += fmt::format("{}`{}`", out.empty() ? "" : " ", label); };
  if (row.perContainer) {
    for (const std::string_view label : containerLabels()) append(label);
  }
  for (const std::string_view label : row.labels) {
    if (!label.empty()) append(label);
  }
  return out;
}

constexpr std::array<GeneratedPart, 1> kParts = {{{"metrics", familyReference}}};

}  // namespace

std::string familyReference() {
  std::string out = "| metric | type | labels | meaning | values |\n|---|---|---|---|---|\n";
  for (const FamilyInfo& row : families()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, name(row.type), labelsText(row), row.help, row.note);
  }
  return out;
}

std::span<const GeneratedPart> generatedParts() {
  return kParts;
}

}  // namespace memqos::metrics
