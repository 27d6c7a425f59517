#include "proc/processes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/file.h"

namespace memqos::proc {
namespace {

constexpr std::size_t kCommCap = 64;  // the kernel gives 15 bytes and a newline

std::optional<int> pidOf(std::string_view entry) {
  int pid = 0;
  const auto parsed = std::from_chars(entry.data(), entry.data() + entry.size(), pid);
  if (parsed.ec != std::errc{} || parsed.ptr != entry.data() + entry.size() || pid <= 0) return std::nullopt;
  return pid;
}

// "pid:[4026531836]"; empty: not readable.
std::string pidNamespace(const std::string& procRoot, int pid) {
  std::array<char, 64> target{};
  const auto length = ::readlink(fmt::format("{}/{}/ns/pid", procRoot, pid).c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

Result<std::optional<int>> findHostProcess(std::string_view name, const std::string& procRoot) {
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(procRoot.c_str()), close);
  if (!directory) return failErrno(errno, "cannot list processes", procRoot);
  const std::string host = pidNamespace(procRoot, 1);
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto pid = pidOf(entry->d_name);
    if (!pid) continue;
    const auto comm = readFile(fmt::format("{}/{}/comm", procRoot, *pid), kCommCap);
    if (!comm || *comm != fmt::format("{}\n", name)) continue;
    const std::string own = pidNamespace(procRoot, *pid);
    if (host.empty() || own.empty() || own == host) return pid;
  }
  return std::optional<int>();
}

}  // namespace memqos::proc
