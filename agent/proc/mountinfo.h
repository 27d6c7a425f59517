// /proc/PID/mountinfo: which file system is where (Documentation/filesystems/proc.rst, section 3.5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace memqos::proc {

struct Mount {
  int id = 0;
  int parent = 0;
  unsigned major = 0, minor = 0;
  std::string root;   // which part of the file system is mounted; for cgroups relative to the reader's cgroup namespace
  std::string point;  // relative to the process' root
  std::vector<std::string> options;
  std::string type;    // "cgroup2", "ext4", "fuse.sshfs", ...
  std::string source;  // anything; users choose it
  std::vector<std::string> superOptions;
  bool operator==(const Mount&) const = default;
  [[nodiscard]] bool hasSuperOption(std::string_view option) const;
};

struct MountTable {
  std::vector<Mount> mounts;  // in the file's order: a later one may cover an earlier one
  int malformed = 0;          // lines that were left out
};

// Octal escapes (\040) are decoded. A line that cannot be read is left out and counted: users can mount.
MountTable parseMountinfo(std::string_view text);
// Of `process` ("self", or a number). Errors: gone, denied, invalid (larger than 16 MiB).
Result<MountTable> readMountinfo(const std::string& procRoot, const std::string& process = "self");
// Is the mount what its mount point leads to, or did another one cover it?
bool isReachable(const Mount& mount);

}  // namespace memqos::proc
