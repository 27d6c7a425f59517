// The grammar of a knob's text: annotations, classes, defaults and policies share it.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "base/quantity.h"
#include "base/units.h"
#include "policy/knobs.h"

namespace memqos::policy {

// What a text asks for, before a percentage is taken of anything and before any rule: bytes or "max", a percentage, a
// flag, or a keyword ("off", "auto", a class name).
using Asked = std::variant<Limit, Percent, bool, std::string>;

struct BadText {
  std::string problem;  // "'64MB' is not a quantity of bytes"; safe to print
  std::string advice;   // "write 64M or 64Mi"
};

// Only the grammar: whether a class exists, and what the numbers mean for a container, is decided later.
// Quantities are whole pages or more, or 0: below a page a unit was forgotten. No text is longer than 256 bytes.
tl::expected<Asked, BadText> checkText(Knob knob, std::string_view text);

}  // namespace memqos::policy
