// For kernel tests: real cgroups that are gone at the end of the scope, whatever is in them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cgroup/cgroup.h"

namespace memqos::testing {

inline constexpr const char* kCgroupMount = "/sys/fs/cgroup";

// Looks every 10 ms until `holds`; false: not within `limit`, which is long since emulated machines are slow.
bool waitUntil(const std::function<bool()>& holds, std::chrono::seconds limit = std::chrono::seconds(60));

class ScopedCgroup {
 public:
  // `path` is below the mount; what is missing on the way is created too, with the memory controller (and io, pids
  // where there) for the children, and goes away with it. Throws std::system_error.
  explicit ScopedCgroup(std::string path, std::string mount = kCgroupMount);
  ~ScopedCgroup();
  ScopedCgroup(const ScopedCgroup&) = delete;
  ScopedCgroup& operator=(const ScopedCgroup&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }  // below the mount
  [[nodiscard]] std::string file(std::string_view name) const;     // absolute
  // One write(2) by somebody who is not the agent; throws std::system_error.
  void write(std::string_view name, std::string_view text) const;
  [[nodiscard]] std::string read(std::string_view name) const;
  [[nodiscard]] std::int64_t stat(std::string_view key) const;  // of memory.stat
  [[nodiscard]] Bytes current() const;
  [[nodiscard]] cgroup::Handle handle() const;  // a fresh one
  // Kills what is inside, then removes this cgroup and everything below. False: still there.
  bool remove();

 private:
  std::string mount_;
  std::string path_;
  std::string created_;  // the topmost that was not there; empty: all was
};

}  // namespace memqos::testing
