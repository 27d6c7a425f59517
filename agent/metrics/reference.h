// The generated part of docs/reference/metrics.md.
#pragma once

#include <span>
#include <string>

#include "base/generated.h"

namespace memqos::metrics {

// The table of families, in Markdown.
std::string familyReference();
std::span<const GeneratedPart> generatedParts();  // "metrics"

}  // namespace memqos::metrics
