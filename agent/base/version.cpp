#include "base/version.h"

namespace memqos {

std::string_view version() {
  return MEMQOS_VERSION;
}

}  // namespace memqos
