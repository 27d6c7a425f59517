#include "testing/scoped_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file.h"
#include "cgroup/stat.h"

namespace memqos::testing {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void giveUp(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void writeFile(const std::string& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) giveUp(path);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) giveUp(path);
}

bool enable(const std::string& directory, const char* controller) {
  const Fd fd(::open((directory + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::string("+") + controller;
  return fd && ::write(fd.get(), text.data(), text.size()) > 0;
}

std::vector<std::string> deepestFirst(const std::string& top) {
  std::vector<std::string> out = {top};
  std::error_code error;
  for (fs::recursive_directory_iterator it(top, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) out.push_back(it->path().string());
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return out;
}

bool removeTree(const std::string& top) {
  if (::access(top.c_str(), F_OK) != 0) return true;
  const Fd kill(::open((top + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (kill) [[maybe_unused]]
    const ssize_t ignored = ::write(kill.get(), "1", 1);
  return waitUntil([&] {
    for (const auto& directory : deepestFirst(top)) ::rmdir(directory.c_str());
    return ::access(top.c_str(), F_OK) != 0;
  });
}

}  // namespace

bool waitUntil(const std::function<bool()>& holds, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

ScopedCgroup::ScopedCgroup(std::string path, std::string mount) : mount_(std::move(mount)), path_(std::move(path)) {
  for (std::size_t slash = 0; slash != std::string::npos;) {
    const std::string parent = mount_ + (slash == 0 ? "" : "/" + path_.substr(0, slash));
    const bool unified = ::access((parent + "/cgroup.subtree_control").c_str(), F_OK) == 0;
    if (unified && !enable(parent, "memory")) giveUp("cannot enable the memory controller in " + parent);
    for (const auto* optional : {"io", "pids"}) enable(parent, optional);
    slash = path_.find('/', slash == 0 ? 0 : slash + 1);
    const std::string directory = mount_ + "/" + path_.substr(0, slash);
    if (::mkdir(directory.c_str(), 0755) == 0) {
      if (created_.empty()) created_ = directory;
    } else if (errno != EEXIST) {
      giveUp(directory);
    }
  }
}

ScopedCgroup::~ScopedCgroup() {
  if (!created_.empty()) removeTree(created_);
}

std::string ScopedCgroup::file(std::string_view name) const {
  return mount_ + "/" + path_ + "/" + std::string(name);
}

void ScopedCgroup::write(std::string_view name, std::string_view text) const {
  writeFile(file(name), text);
}

std::string ScopedCgroup::read(std::string_view name) const {
  auto text = readFile(file(name), 1UL * 1024 * 1024);
  if (!text) throw std::system_error(text.error().sysErrno, std::generic_category(), file(name));
  return *text;
}

std::int64_t ScopedCgroup::stat(std::string_view key) const {
  return cgroup::parseFlatKeyed(read("memory.stat")).value().get(key);
}

Bytes ScopedCgroup::current() const {
  return parseLimit(read("memory.current")).value().bytes();
}

cgroup::Handle ScopedCgroup::handle() const {
  return cgroup::Root::open(mount_).value().find(path_).value();
}

bool ScopedCgroup::remove() {
  return removeTree(mount_ + "/" + path_);
}

}  // namespace memqos::testing
