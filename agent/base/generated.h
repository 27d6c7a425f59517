// Documents with generated parts: each stands between the lines `<!-- generated: begin NAME -->` and
// `<!-- generated: end -->`. The rest of those two lines is kept: a comment of YAML, a member of JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace memqos {

struct GeneratedPart {
  std::string_view name;
  std::string (*render)();  // whole lines
};

// `text` with every generated part brought up to date. Errors: invalid (a mark without its end, an unknown name).
Result<std::string> refreshGenerated(std::string_view text, std::span<const GeneratedPart> parts);

// The whole of a generator: `PROGRAM [--check] FILE...` brings each file up to date in place, or with --check only says
// which are not. Returns the exit status.
int generateMain(int argc, const char* const* argv, std::span<const GeneratedPart> parts);

}  // namespace memqos
