#include "control/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

namespace memqos::control {

Result<Fd> lockRunDir(const std::string& runDir) {
  std::error_code error;
  std::filesystem::create_directories(runDir, error);
  if (error) return failErrno(error.value(), "cannot create the run directory", runDir);
  const std::string path = runDir + "/lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failErrno(errno, "cannot open the lock", path);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failErrno(errno, "cannot take the lock", path);
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(Code::again, fmt::format("another memqos agent runs on this node and holds {}", path));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fd;
}

}  // namespace memqos::control
