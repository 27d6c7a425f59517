// Pure: what the HTTP library says of a failure -> what it means.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace memqos::kube {

// `value` of the library's error code: an errno, or OpenSSL's packed number under a category of the wrong name. `text`
// is what the exception says; it is quoted where it says more than the code.
Error decodeFailure(int value, std::string_view category, std::string_view text);

}  // namespace memqos::kube
