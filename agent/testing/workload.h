// For kernel tests: a process of its own inside a cgroup, that uses memory in one simple way.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/fd.h"
#include "base/units.h"
#include "testing/scoped_cgroup.h"

namespace memqos::testing {

class Workload {
 public:
  // Writes a file of that size, syncs it, reads it, then sleeps: clean page cache charged to the cgroup.
  static Workload pageCache(const ScopedCgroup& cgroup, Bytes size);
  // Touches that much anonymous memory, then sleeps.
  static Workload anonymous(const ScopedCgroup& cgroup, Bytes size);
  // Like anonymous(), but touches all of it again and again, with a rest of 10 ms between rounds.
  static Workload hot(const ScopedCgroup& cgroup, Bytes size);
  // Like pageCache(), but reads the file again and again without end.
  static Workload stream(const ScopedCgroup& cgroup, Bytes size);
  // Reads a file of that size that has no blocks, `passes` times: page cache without a disk. Ready at the end.
  static Workload streamHoles(const ScopedCgroup& cgroup, Bytes size, int passes);
  // Touches one more `step` of anonymous memory every `pause`, up to `most`, then sleeps. Ready from the start.
  static Workload allocate(const ScopedCgroup& cgroup, Bytes step, Bytes most, std::chrono::milliseconds pause);

  Workload(Workload&& other) noexcept;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  Workload& operator=(Workload&&) = delete;
  ~Workload();  // kill -9, and the file is removed

  // Waits until the memory is there (or until the first pass of stream()); false: the process ended before.
  bool waitReady();
  void pause() const;   // SIGSTOP
  void resume() const;  // SIGCONT
  void stop();          // kill -9, reaped
  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  // How much of the file is in the page cache, looked at from outside (mincore): nothing is charged or read by that.
  [[nodiscard]] Bytes cached() const;

 private:
  struct Task;
  Workload(const ScopedCgroup& cgroup, Task task);

  pid_t pid_ = -1;
  Fd ready_;  // the reading end; one byte means ready
  std::string file_;
};

// Where files of workloads go: $MEMQOS_SCRATCH, /scratch (a disk in the test machine), or /tmp.
std::string scratchFolder();

}  // namespace memqos::testing
