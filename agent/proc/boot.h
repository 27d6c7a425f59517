// What tells one boot from another.
#pragma once

#include <string>

#include "base/error.h"

namespace memqos::proc {

// /proc/sys/kernel/random/boot_id, e.g. "8c7a1f0e-4d0e-4c5b-9d8e-0c9a5e3f6b21". Errors: gone, denied, invalid (not a
// UUID).
Result<std::string> bootId(const std::string& procRoot = "/proc");

}  // namespace memqos::proc
