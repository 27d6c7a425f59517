// Small files, read whole and with a cap: what outsiders can make large must not fill our memory.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace memqos {

// The whole content. Never waits for a writer of a FIFO. Errors: gone (ENOENT, ENODEV), denied, invalid (more than
// `cap` bytes), io (a directory, for instance).
Result<std::string> readFile(const std::string& path, std::size_t cap);
// The same below an open directory; `name` itself must not be a symbolic link.
Result<std::string> readAt(int directory, const char* name, std::size_t cap);
// From the file's start, through a descriptor that stays open (kernel files give fresh content each time). `name` is
// only for the error.
Result<std::string> readFd(int fd, const std::string& name, std::size_t cap);

}  // namespace memqos
