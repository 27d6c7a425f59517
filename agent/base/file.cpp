#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace memqos {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

int openRetrying(int directory, const char* name, int flags) {
  int fd = -1;
  do {
    fd = ::openat(directory, name, flags);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// `get(buffer, size, offset)` is a read(2): bytes, 0 at the end, -1 with errno.
template <typename Get>
Result<std::string> readWith(Get get, const std::string& name, std::size_t cap) {
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t got = get(buffer, sizeof buffer, text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failErrno(errno, "cannot read", name);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > cap) return fail(Code::invalid, fmt::format("larger than {} bytes", cap), name);
  }
}

Result<std::string> readOpened(Fd fd, const std::string& name, std::size_t cap) {
  if (!fd) return failErrno(errno, "cannot open", name);
  const auto get = [&](char* to, std::size_t size, std::size_t) { return ::read(fd.get(), to, size); };
  return readWith(get, name, cap);
}

}  // namespace

Result<std::string> readFile(const std::string& path, std::size_t cap) {
  return readOpened(Fd(openRetrying(AT_FDCWD, path.c_str(), kReadFlags)), path, cap);
}

Result<std::string> readAt(int directory, const char* name, std::size_t cap) {
  return readOpened(Fd(openRetrying(directory, name, kReadFlags | O_NOFOLLOW)), name, cap);
}

Result<std::string> readFd(int fd, const std::string& name, std::size_t cap) {
  const auto get = [&](char* to, std::size_t size, std::size_t at) {
    return ::pread(fd, to, size, static_cast<off_t>(at));
  };
  return readWith(get, name, cap);
}

}  // namespace memqos
