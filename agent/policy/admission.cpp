#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "policy/keys.h"
#include "policy/knobs.h"
#include "policy/reference.h"

namespace memqos::policy {
namespace {

// A string literal of CEL. The table's texts have no quotes, control characters or backslashes, which a test checks.
std::string literal(std::string_view text) {
  return fmt::format("'{}'", text);
}

std::string listOf(const std::vector<std::string_view>& names) {
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string_view name : names) out.push_back(literal(name));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

template <typename Predicate>
std::string namesWhere(Predicate matches) {
  std::vector<std::string_view> out;
  for (const KnobInfo& knob : knobs()) {
    if (matches(knob)) out.push_back(knob.name);
  }
  return listOf(out);
}

template <typename Text>
std::string mapOf(Text text) {
  std::string out;
  for (const KnobInfo& knob : knobs()) {
    out += fmt::format("          {}: {},\n", literal(knob.name), text(knob));
  }
  out.erase(out.size() - 2);  // the last comma
  return "{\n" + out + "}";
}

std::string wordsOf(const KnobInfo& knob) {
  if (knob.form == Form::flag) return listOf({"true", "false"});
  return listOf({knob.keywords.begin(), knob.keywords.end()});
}

std::string variable(std::string_view name, std::string_view expression) {
  return fmt::format("    - name: {}\n      expression: >-\n        {}\n", name, expression);
}

}  // namespace

std::string admissionVariables() {
  return variable("knobs", fmt::format("'{}'", fmt::join(words(), ", "))) +
         variable("values", mapOf([](const KnobInfo& knob) { return literal(describeValues(knob)); })) +
         variable("words", mapOf(wordsOf)) +
         variable("quantities", namesWhere([](const KnobInfo& knob) { return knob.form == Form::quantity; })) +
         variable("percentages", namesWhere([](const KnobInfo& knob) { return knob.percentOf != Whole::none; })) +
         variable("classKnobs", namesWhere([](const KnobInfo& knob) { return knob.form == Form::className; }));
}

std::string schemaKnobs() {
  std::string out =
      "    \"knobs\": {\n      \"type\": \"object\",\n      \"additionalProperties\": false,\n      \"properties\": "
      "{\n";
  for (const KnobInfo& knob : knobs()) {
    out += fmt::format("        \"{}\": {{\"$ref\": \"#/$defs/scalar\", \"description\": \"{}\"}},\n", knob.camelName,
                       describeValues(knob));
  }
  out.erase(out.size() - 2);  // the last comma
  return out + "\n      }\n    },\n";
}

}  // namespace memqos::policy
