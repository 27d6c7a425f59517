// The version of this build, e.g. "0.1.0".
#pragma once

#include <string_view>

namespace memqos {

std::string_view version();

}  // namespace memqos
