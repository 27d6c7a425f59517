#include "cgroup/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"

namespace memqos::cgroup {
namespace {

// Control files are small; cgroup.procs of a huge cgroup is the largest.
constexpr std::size_t kCap = 1UL * 1024 * 1024;

bool isKernelTree(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  return info.f_type == CGROUP2_SUPER_MAGIC || info.f_type == CGROUP_SUPER_MAGIC;
}

bool hasDotComponent(std::string_view path) {
  while (true) {
    const std::size_t end = path.find('/');
    const auto component = path.substr(0, end);
    if (component == "." || component == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

Result<Fd> openBeneath(int root, const std::string& relative) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  // EAGAIN: something was renamed or mounted anywhere in the meantime; the kernel asks to try again.
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, relative.empty() ? "." : relative.c_str(), &how, sizeof how);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if ((errno != EAGAIN && errno != EINTR) || attempt == 100) break;
  }
  const bool refused = errno == ELOOP || errno == EXDEV || errno == ENOTDIR;
  Error error = failErrno(errno, "cannot open the cgroup", relative).value();
  if (refused) error.code = Code::invalid;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<Root> Root::open(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  Root root;
  root.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd_) {
    Error error = failErrno(errno, "cannot open the cgroup root", path).value();
    if (error.sysErrno == ENOTDIR) error.code = Code::invalid;
    return tl::unexpected(std::move(error));
  }
  root.kernel_ = isKernelTree(root.fd_.get());
  root.path_ = std::move(path);
  return root;
}

Result<Handle> Root::find(std::string_view relative) const {
  std::string path(relative);
  // RESOLVE_BENEATH alone would let "a/../b" pass, and a NUL would hide the rest of the path.
  if (hasDotComponent(path) || path.find('\0') != std::string::npos || path.find("//") != std::string::npos ||
      (!path.empty() && path.back() == '/')) {
    return fail(Code::invalid, "not a plain path of a cgroup", std::move(path));
  }
  auto directory = openBeneath(fd_.get(), path);
  if (!directory) return tl::unexpected(std::move(directory.error()));
  struct stat info {};
  if (::fstat(directory->get(), &info) != 0) return failErrno(errno, "cannot look at the cgroup", std::move(path));
  return std::make_shared<Cgroup>(std::move(path), std::move(*directory), info.st_ino, kernel_);
}

// One read that has room gets the whole record (fs/seq_file.c): nobody has to ask for the end.
Result<std::string> readRecord(int fd, const char* file) {
  char buffer[4096];
  const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
  if (got < 0 || static_cast<std::size_t>(got) == sizeof buffer) return readFd(fd, file, kCap);
  return std::string(buffer, static_cast<std::size_t>(got));
}

Result<std::string> Cgroup::read(const char* file) const {
  const auto fd = open(file, O_RDONLY | O_NONBLOCK);
  if (!fd) return tl::unexpected(fd.error());
  auto text = readRecord(fd->get(), file);
  if (!text) text.error().path = path_ + "/" + file;
  return text;
}

Result<Limit> Cgroup::readLimit(const char* file) const {
  const auto text = read(file);
  if (!text) return tl::unexpected(text.error());
  auto limit = parseLimit(*text);
  if (!limit) limit.error().path = path_ + "/" + file;
  return limit;
}

Status Cgroup::write(const char* file, std::string_view text) const {
  // On a real cgroup O_TRUNC would do nothing but raise one more inotify event, before the new value is there.
  const auto fd = open(file, O_WRONLY | O_NONBLOCK | (kernel_ ? 0 : O_TRUNC));
  if (!fd) return tl::unexpected(fd.error());
  const ssize_t done = ::write(fd->get(), text.data(), text.size());
  if (done < 0) return failErrno(errno, "cannot write", path_ + "/" + file);
  if (static_cast<std::size_t>(done) != text.size()) return fail(Code::io, "written in part", path_ + "/" + file);
  return {};
}

Result<Fd> Cgroup::open(const char* file, int flags) const {
  Fd fd(::openat(directory_.get(), file, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  if (!fd) return failErrno(errno, "cannot open", path_ + "/" + file);
  return fd;
}

bool Cgroup::exists(const char* file) const {
  return ::faccessat(directory_.get(), file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Cgroup::alive() const {
  struct stat info {};
  if (::fstat(directory_.get(), &info) != 0 || info.st_nlink == 0) return false;
  // kernfs keeps the link count of a removed directory, but nothing is found in it any more.
  return !kernel_ || exists("cgroup.procs");
}

Result<std::vector<std::string>> Cgroup::children() const {
  // A second descriptor of its own: the position of the held one is shared.
  const int fd = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failErrno(errno, "cannot list", path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) {
    const int sysErrno = errno;
    ::close(fd);
    return failErrno(sysErrno, "cannot list", path_);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return failErrno(errno, "cannot list", path_);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace memqos::cgroup
