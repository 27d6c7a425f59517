// For kernel tests: a program that dies by SIGKILL exactly before its n-th system call that changes something outside
// of it. This is how "killed at any moment" is tested moment by moment instead of by luck.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace memqos::testing {

// Counted are, on any thread: opening a file for writing, writing to or truncating one, renaming, removing, and sending
// a message over a socket. Not counted: writes to `output`, devices, pipes and eventfds, which leave no trace.
// Processes that the program starts are not traced and live on.
class SyscallKiller {
 public:
  // Starts `command` with stdout and stderr appended to `output`. `nth`: as killBefore() from the first instruction on;
  // 0: not yet.
  SyscallKiller(std::vector<std::string> command, std::string output, int nth = 0);
  ~SyscallKiller();  // kill -9, and reaped
  SyscallKiller(const SyscallKiller&) = delete;
  SyscallKiller& operator=(const SyscallKiller&) = delete;

  // Before the n-th counted call from now, 1 being the next. That call does not take place.
  void killBefore(int nth);
  // Killed or ended by itself, and reaped.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool killedByCount() const { return killedByCount_; }
  // kill -9 now, and waits for the end.
  void kill();
  // Waits for the end; the exit status, or 128 + signal.
  int wait();
  // The last counted call, such as "write /sys/fs/cgroup/a/memory.min"; for messages.
  [[nodiscard]] std::string lastCall() const;

 private:
  void trace(const std::vector<std::string>& command);
  void stopped(pid_t thread, int status, std::vector<pid_t>& seen);
  void entered(pid_t thread);

  std::string output_;
  std::atomic<int> left_;  // calls until the kill; 0: none is due
  std::atomic<pid_t> pid_ = -1;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> killedByCount_ = false;
  std::atomic<int> status_ = -1;
  mutable std::mutex mutex_;
  std::string lastCall_;  // guarded by mutex_
  std::thread tracer_;    // ptrace belongs to one thread; last, since it uses the rest
};

}  // namespace memqos::testing
