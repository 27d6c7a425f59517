// One cgroup: a directory descriptor and its inode. Paths are for people; every access is relative to the descriptor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/units.h"

namespace memqos::cgroup {

using Id = std::uint64_t;  // the directory's inode number = the kernel's cgroup id

class Cgroup;

// The mounted cgroup v2 hierarchy (or, in unit tests, a folder that plays it).
class Root {
 public:
  // Errors: gone, denied, invalid (not a directory).
  static Result<Root> open(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }  // e.g. /sys/fs/cgroup, without trailing slash
  [[nodiscard]] int fd() const { return fd_.get(); }
  // `relative` is below the root, "" is the root itself. Symbolic links, "..", and leaving the mount are refused
  // (openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV). Errors: gone, denied, invalid, unsupported
  // (before Linux 5.6). The errno tells a symbolic link (ELOOP), a mount (EXDEV) and a file (ENOTDIR) apart.
  [[nodiscard]] Result<std::shared_ptr<Cgroup>> find(std::string_view relative) const;

 private:
  std::string path_;
  Fd fd_;
  bool kernel_ = false;  // a real cgroup file system
};

class Cgroup {
 public:
  // `kernel`: false for a folder that plays a cgroup; its files are truncated before a write.
  Cgroup(std::string path, Fd directory, Id id, bool kernel = true)
      : path_(std::move(path)), directory_(std::move(directory)), id_(id), kernel_(kernel) {}
  [[nodiscard]] const std::string& path() const { return path_; }  // relative to the root, "" is the root
  [[nodiscard]] Id id() const { return id_; }
  [[nodiscard]] int fd() const { return directory_.get(); }
  // The whole content of a control file that is one record: all but the lists of processes. Errors: gone (ENOENT,
  // ENODEV), denied, unsupported (EOPNOTSUPP), io. ENOENT of a file in a live cgroup also reads as gone; exists() tells
  // them apart.
  [[nodiscard]] Result<std::string> read(const char* file) const;
  [[nodiscard]] Result<Limit> readLimit(const char* file) const;
  // One write(2) of `text`. O_NONBLOCK so that kernels which honour it (6.16 on) do not reclaim in the writer. An
  // interrupted write is not repeated: it is `again`, so that a lane can cancel it.
  [[nodiscard]] Status write(const char* file, std::string_view text) const;
  // A descriptor that the caller keeps: for poll on memory.pressure, for events while nobody else holds the file open.
  [[nodiscard]] Result<Fd> open(const char* file, int flags) const;
  [[nodiscard]] bool exists(const char* file) const;
  // False once the directory was removed.
  [[nodiscard]] bool alive() const;
  // Names of the child cgroups, sorted. Errors: as of read().
  [[nodiscard]] Result<std::vector<std::string>> children() const;

 private:
  std::string path_;
  Fd directory_;
  Id id_;
  bool kernel_;
};
using Handle = std::shared_ptr<Cgroup>;

// As Cgroup::read(), through a descriptor that the caller holds; `file` is for the error.
Result<std::string> readRecord(int fd, const char* file);

}  // namespace memqos::cgroup
