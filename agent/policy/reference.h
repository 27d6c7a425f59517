// The generated parts of the reference documentation.
#pragma once

#include <span>
#include <string>

#include "base/generated.h"

namespace memqos::policy {

// The table of knobs and the table of orders between them, in Markdown.
std::string knobReference();
// The table of reasons of findings.
std::string reasonReference();
// The fields of other agents' annotations, and what becomes of each.
std::string koordinatorReference();
std::string nriReference();

// The variables of the chart's admission policy that say what each knob takes (YAML with CEL).
std::string admissionVariables();
// The definition "knobs" of the chart's values schema: defaults and classes of the configuration (JSON).
std::string schemaKnobs();

// "knobs", "reasons", "koordinator", "nri", "admission" and "schema-knobs".
std::span<const GeneratedPart> generatedParts();

}  // namespace memqos::policy
