#include "proc/boot.h"

#include "base/file.h"

namespace memqos::proc {

Result<std::string> bootId(const std::string& procRoot) {
  const std::string path = procRoot + "/sys/kernel/random/boot_id";
  auto text = readFile(path, 256);
  if (!text) return text;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  if (text->size() != 36 || text->find_first_not_of("0123456789abcdef-") != std::string::npos) {
    return fail(Code::invalid, "not a boot id", path);
  }
  return text;
}

}  // namespace memqos::proc
