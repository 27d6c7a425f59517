#include "policy/reference.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "policy/dialects.h"
#include "policy/finding.h"
#include "policy/knobs.h"

namespace memqos::policy {
namespace {

std::string code(std::string_view text) {
  return fmt::format("`{}`", text);
}

std::string wholeText(Whole whole) {
  switch (whole) {
    case Whole::none:
      return "";
    case Whole::request:
      return "`N%` of the request";
    case Whole::limit:
      return "`N%` of the limit";
    case Whole::limitOrHigh:
      return "`N%` of the smaller of limit and `memory-high`";
  }
  return "";
}

std::string valuesText(const KnobInfo& knob) {
  std::vector<std::string> parts;
  if (knob.form == Form::className) parts.emplace_back("the name of a class");
  if (knob.form == Form::flag) parts.emplace_back("`true`, `false`");
  if (knob.form == Form::quantity) parts.emplace_back("quantity");
  if (knob.percentOf != Whole::none) parts.push_back(wholeText(knob.percentOf));
  for (const std::string_view word : knob.keywords) {
    parts.push_back(code(word) + (word == knob.builtinDefault ? " (default)" : ""));
  }
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string takes(const DialectField& field) {
  switch (field.meaning) {
    case Meaning::policy:
      return "`default`, `none`, `auto`";
    case Meaning::fileBytes:
      return "bytes, a number with `K`, `M`, `G`, `T`, `P` or `E` (powers of 1024), `max`";
    case Meaning::fileFlag:
      return "`0`, `1`";
    case Meaning::refused:
      return "";
    case Meaning::cacheBytes:
      return "bytes";
    default:
      return fmt::format("{} to {}", field.least, field.most);
  }
}

std::string fate(const DialectField& field) {
  if (field.meaning == Meaning::policy) return std::string(field.summary);
  if (field.meaning == Meaning::vendorKernel) return fmt::format("ignored: {}", field.summary);
  if (field.meaning == Meaning::refused) return fmt::format("refused: {}", field.summary);
  return fmt::format("{}: {}", code(info(*field.knob).name), field.summary);
}

std::string dialectReference(Dialect dialect, std::string_view what) {
  std::string out = fmt::format("| {} | takes | becomes |\n|---|---|---|\n", what);
  for (const DialectField& field : dialectFields()) {
    if (field.dialect != dialect) continue;
    out += fmt::format("| {} | {} | {} |\n", code(field.name), takes(field), fate(field));
  }
  return out;
}

constexpr std::array<GeneratedPart, 6> kParts = {{
    {"knobs", knobReference},
    {"reasons", reasonReference},
    {"koordinator", koordinatorReference},
    {"nri", nriReference},
    {"admission", admissionVariables},
    {"schema-knobs", schemaKnobs},
}};

}  // namespace

std::string knobReference() {
  std::string out = "| knob | in configuration | value | kernel file | meaning |\n|---|---|---|---|---|\n";
  for (const KnobInfo& knob : knobs()) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", code(knob.name), code(knob.camelName), valuesText(knob),
                       knob.file.empty() ? "" : code(knob.file), knob.summary);
  }
  out += "\n| this knob | stays | so it is lowered to |\n|---|---|---|\n";
  for (const Order& order : orders()) {
    const std::string bound = order.bound ? code(info(*order.bound).name) : "the limit";
    out += fmt::format("| {} | {} {} | {} |\n", code(info(order.knob).name), order.below ? "under" : "at or under",
                       bound, order.below ? "a page under " + bound : bound);
  }
  return out;
}

std::string reasonReference() {
  std::string out = "| reason | severity | meaning |\n|---|---|---|\n";
  for (const ReasonInfo& reason : reasons()) {
    out += fmt::format("| {} | {} | {} |\n", code(reason.name),
                       reason.severity == Severity::error ? "error" : "warning", reason.summary);
  }
  return out;
}

std::string koordinatorReference() {
  return dialectReference(Dialect::koordinator, "field");
}
std::string nriReference() {
  return dialectReference(Dialect::nri, "file");
}

std::span<const GeneratedPart> generatedParts() {
  return kParts;
}

}  // namespace memqos::policy
