#include "testing/syscall_killer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>

#include "testing/agent_process.h"
#include "testing/scoped_cgroup.h"

namespace memqos::testing {
namespace {

using Arguments = std::array<std::uint64_t, 6>;

std::string pathOf(pid_t thread, std::uint64_t fd) {
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", thread, static_cast<int>(fd)), error).string();
}

std::string textAt(pid_t thread, std::uint64_t address) {
  std::array<char, 256> text{};
  iovec here{text.data(), text.size() - 1};
  iovec there{reinterpret_cast<void*>(address), text.size() - 1};  // NOLINT: an address of the other process
  const ssize_t got = ::process_vm_readv(thread, &here, 1, &there, 1, 0);
  return got < 0 ? "?" : std::string(text.data());
}

bool isFile(const std::string& path, const std::string& output) {
  return path.starts_with("/") && !path.starts_with("/dev/") && path != output;
}

std::optional<std::string> opening(pid_t thread, std::uint64_t path, std::uint64_t flags) {
  constexpr std::uint64_t kChanges = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  if ((flags & kChanges) == 0) return std::nullopt;
  const std::string text = textAt(thread, path);
  if (text.starts_with("/dev/")) return std::nullopt;
  return "open " + text;
}

// nullopt: a call that is not counted.
std::optional<std::string> describe(pid_t thread, std::uint64_t number, const Arguments& arguments,
                                    const std::string& output) {
  switch (number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_ftruncate: {
      const std::string path = pathOf(thread, arguments[0]);
      if (!isFile(path, output)) return std::nullopt;
      return "write " + path;
    }
    case SYS_open:
      return opening(thread, arguments[0], arguments[1]);
    case SYS_openat:
      return opening(thread, arguments[1], arguments[2]);
    case SYS_rename:
      return "rename " + textAt(thread, arguments[0]);
    case SYS_renameat:
    case SYS_renameat2:
      return "rename " + textAt(thread, arguments[1]);
    case SYS_unlink:
      return "unlink " + textAt(thread, arguments[0]);
    case SYS_unlinkat:
      return "unlink " + textAt(thread, arguments[1]);
    case SYS_sendmsg:
      return std::string("sendmsg");
    default:
      return std::nullopt;
  }
}

}  // namespace

SyscallKiller::SyscallKiller(std::vector<std::string> command, std::string output, int nth)
    : output_(std::move(output)), left_(nth), tracer_([this, command = std::move(command)] { trace(command); }) {}

SyscallKiller::~SyscallKiller() {
  kill();
}

void SyscallKiller::killBefore(int nth) {
  left_ = nth;
}

void SyscallKiller::kill() {
  waitUntil([&] { return pid_ != -1 || ended_; });
  // Not after the end: the number may be somebody else's by then.
  if (!ended_ && pid_ > 0) ::kill(pid_, SIGKILL);
  wait();
}

int SyscallKiller::wait() {
  if (tracer_.joinable()) tracer_.join();
  return status_;
}

std::string SyscallKiller::lastCall() const {
  const std::lock_guard lock(mutex_);
  return lastCall_;
}

void SyscallKiller::trace(const std::vector<std::string>& command) {
  pid_ = spawn(command, output_, output_, [] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); });
  std::vector<pid_t> seen;
  while (pid_ > 0) {
    int status = 0;
    // __WNOTHREAD: the other children of this process are others' to wait for.
    const pid_t thread = ::waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (thread < 0 && errno == EINTR) continue;
    if (thread < 0) break;
    if (WIFSTOPPED(status)) {
      stopped(thread, status, seen);
    } else if (thread == pid_) {
      status_ = statusOf(status);
      break;
    }
  }
  ended_ = true;
}

void SyscallKiller::stopped(pid_t thread, int status, std::vector<pid_t>& seen) {
  constexpr int kSyscallStop = SIGTRAP | 0x80;
  const int signal = WSTOPSIG(status);
  const bool first = std::find(seen.begin(), seen.end(), thread) == seen.end();
  if (first) {
    seen.push_back(thread);
    if (thread == pid_) {
      constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
      ::ptrace(PTRACE_SETOPTIONS, thread, nullptr, kOptions);
    }
  }
  if (signal == kSyscallStop) entered(thread);
  // A new thread begins with a SIGSTOP, an exec with a SIGTRAP; those are ours, other signals are the program's.
  const bool ours = signal == kSyscallStop || signal == SIGTRAP || (first && signal == SIGSTOP);
  ::ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(ours ? 0 : signal));
}

void SyscallKiller::entered(pid_t thread) {
  if (left_ <= 0) return;
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) {
    return;
  }
  Arguments arguments{};
  std::copy(std::begin(info.entry.args), std::end(info.entry.args), arguments.begin());
  const auto call = describe(thread, info.entry.nr, arguments, output_);
  if (!call) return;
  {
    const std::lock_guard lock(mutex_);
    lastCall_ = *call;
  }
  if (--left_ > 0) return;
  killedByCount_ = true;
  ::kill(pid_, SIGKILL);
}

}  // namespace memqos::testing
