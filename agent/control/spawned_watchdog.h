// The watchdog that runs: `memqos-helper watchdog`, a process of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "control/watchdog.h"

namespace memqos::control {

class SpawnedWatchdog final : public Watchdog {
 public:
  struct Options {
    std::string helper;  // path of memqos-helper, see helperBesideAgent()
    int lock = -1;       // the agent's lock (flock); inherited, so that it is held until the watchdog has ended
    int rootProcs = -1;  // cgroup.procs of the root cgroup, open for writing; -1: the watchdog stays in our cgroup
  };
  // Starts it and waits until it is ready, 5 s at most. Call before any thread is started. Errors: gone (no such
  // program), denied, timeout, io, invalid (a helper of another version).
  static Result<std::unique_ptr<SpawnedWatchdog>> spawn(const Options& options);
  // Lets go of it: it puts back everything that is still held, and ends on its own.
  ~SpawnedWatchdog() override;
  SpawnedWatchdog(const SpawnedWatchdog&) = delete;
  SpawnedWatchdog& operator=(const SpawnedWatchdog&) = delete;

  using Watchdog::hold;
  // On one thread. Waits 1 s at most for the answer.
  Status hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore,
              std::optional<loop::TimePoint> undoAt) override;
  void release(const cgroup::Cgroup& cgroup, cgroup::File file) override;
  // It lives, and in the root cgroup, where the end of the agent's container does not reach it. From any thread.
  [[nodiscard]] bool available() const override { return joinedRoot() && alive(); }
  [[nodiscard]] bool alive() const;
  // What it achieved at its start, for `probe` and the log.
  [[nodiscard]] bool joinedRoot() const;
  [[nodiscard]] bool locked() const;
  [[nodiscard]] bool oomSpared() const;
  // Watch it for EPOLLHUP (events 0) to learn of its death.
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Lets go of it and waits until it has put everything back. False: it was not done in time. Nothing may be called
  // after this.
  bool finish(loop::Duration timeout);

 private:
  SpawnedWatchdog(Fd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
  void reap();
  Fd socket_;
  pid_t pid_;
  std::uint32_t flags_ = 0;
  std::uint64_t sequence_ = 0;
};

// Without a watchdog: memory.high and temporary overrides are off.
class NoWatchdog final : public Watchdog {
 public:
  using Watchdog::hold;
  Status hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore,
              std::optional<loop::TimePoint> undoAt) override;
  void release(const cgroup::Cgroup& /*cgroup*/, cgroup::File /*file*/) override {}
  [[nodiscard]] bool available() const override { return false; }
};

// memqos-helper in the folder of the running executable.
std::string helperBesideAgent();

}  // namespace memqos::control
