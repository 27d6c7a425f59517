#include "control/spawned_watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "control/watchdog_protocol.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;
using watchdog::Kind;
using watchdog::Reply;
using watchdog::Request;
using Clock = std::chrono::steady_clock;

constexpr auto kStartDeadline = 5s;
constexpr auto kAnswerDeadline = 1s;

// Waits for `events`; EINTR (the lane's cancel signal) does not shorten it.
bool waitFor(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()), 0ms);
    pollfd poll{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

tl::unexpected<Error> ended() {
  return fail(Code::gone, "the watchdog has ended");
}

// The answer to `sequence`; older ones, whose askers gave up, are skipped.
Result<Reply> receive(int socket, Kind kind, std::uint64_t sequence, Clock::duration timeout) {
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    if (!waitFor(socket, POLLIN, deadline)) return fail(Code::timeout, "the watchdog does not answer");
    Reply reply;
    const ssize_t length = ::recv(socket, &reply, sizeof(reply), MSG_DONTWAIT);
    if (length == 0) return ended();
    if (length < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return ended();
    }
    if (static_cast<std::size_t>(length) != sizeof(reply) || reply.magic != watchdog::kMagic) {
      return fail(Code::invalid, "memqos-helper is of another version than the agent");
    }
    if (reply.kind == kind && reply.sequence == sequence) return reply;
  }
}

// `fd`: attached to the message; -1: none.
Status send(int socket, const Request& request, int fd) {
  iovec data{const_cast<Request*>(&request), sizeof(request)};  // NOLINT: sendmsg does not write
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  const auto deadline = Clock::now() + kAnswerDeadline;
  while (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    const int error = errno;
    if (error == EPIPE || error == ECONNRESET) return ended();
    if (error != EAGAIN && error != EINTR) return failErrno(error, "cannot send to the watchdog");
    if (!waitFor(socket, POLLOUT, deadline)) return fail(Code::timeout, "the watchdog does not listen");
  }
  return {};
}

Request requestFor(Kind kind, const cgroup::Cgroup& cgroup, cgroup::File file) {
  Request request;
  request.kind = kind;
  request.cgroup = cgroup.id();
  request.file = static_cast<std::uint32_t>(file);
  return request;
}

// posix_spawn's two objects, with their ends.
class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  // In the child `fd` becomes `number`. It is copied out of the way first: numbers may collide.
  Status pass(int fd, int number) {
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 64));
    if (!copy) return failErrno(errno, "cannot copy a descriptor");
    ::posix_spawn_file_actions_adddup2(&actions, copy.get(), number);
    copies_.push_back(std::move(copy));
    return {};
  }
  // No signal is blocked, all are at their defaults, and a terminal's do not arrive.
  void independent() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};

 private:
  std::vector<Fd> copies_;
};

Result<pid_t> start(const SpawnedWatchdog::Options& options, int socket) {
  SpawnSetup setup;
  std::vector<std::string> words{options.helper, "watchdog"};
  const auto pass = [&](int fd, int number, const char* flag) -> Status {
    if (fd < 0) {
      ::posix_spawn_file_actions_addopen(&setup.actions, number, "/dev/null", O_RDONLY, 0);  // no gap before closefrom
      return {};
    }
    words.emplace_back(flag);
    words.push_back(std::to_string(number));
    return setup.pass(fd, number);
  };
  for (const auto& passed :
       {pass(socket, watchdog::kSocketFd, "--socket-fd"), pass(options.lock, watchdog::kLockFd, "--lock-fd"),
        pass(options.rootProcs, watchdog::kRootProcsFd, "--root-procs-fd")}) {
    if (!passed) return tl::unexpected(passed.error());
  }
  ::posix_spawn_file_actions_addclosefrom_np(&setup.actions, watchdog::kRootProcsFd + 1);
  setup.independent();
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<char*, 1> environment{nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, options.helper.c_str(), &setup.actions, &setup.attributes, arguments.data(),
                                  environment.data());
  if (error != 0) return failErrno(error, "cannot start the watchdog", options.helper);
  return pid;
}

}  // namespace

Result<std::unique_ptr<SpawnedWatchdog>> SpawnedWatchdog::spawn(const Options& options) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return failErrno(errno, "cannot make a socket pair");
  }
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  const auto pid = start(options, theirs.get());
  if (!pid) return tl::unexpected(pid.error());
  theirs.reset();
  std::unique_ptr<SpawnedWatchdog> made(new SpawnedWatchdog(std::move(ours), *pid));
  const auto hello = receive(made->socket_.get(), Kind::hello, 0, kStartDeadline);
  if (!hello) return tl::unexpected(Error(hello.error()).in("watchdog"));
  made->flags_ = hello->flags;
  return made;
}

SpawnedWatchdog::~SpawnedWatchdog() {
  socket_.reset();
  reap();
}

void SpawnedWatchdog::reap() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;  // also if somebody else has reaped it
}

bool SpawnedWatchdog::finish(loop::Duration timeout) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  socket_.reset();
  if (process) waitFor(process.get(), POLLIN, Clock::now() + timeout);
  reap();
  return pid_ < 0;
}

Status SpawnedWatchdog::hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore,
                             std::optional<loop::TimePoint> undoAt) {
  // Read and written by the watchdog; O_NONBLOCK so that kernels which honour it do not reclaim in its write.
  const Fd control(::openat(cgroup.fd(), name(file), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!control) return failErrno(errno, "cannot open for the watchdog", cgroup.path() + "/" + name(file));
  Request request = requestFor(Kind::hold, cgroup, file);
  request.sequence = ++sequence_;
  if (undoAt) request.undoAt = undoAt->time_since_epoch().count();
  toText(ours).copy(request.ours, sizeof(request.ours) - 1);
  toText(restore).copy(request.restore, sizeof(request.restore) - 1);
  if (auto sent = send(socket_.get(), request, control.get()); !sent) return sent;
  const auto reply = receive(socket_.get(), Kind::hold, request.sequence, kAnswerDeadline);
  if (!reply) return tl::unexpected(reply.error());
  if (reply->error != 0) return failErrno(reply->error, "the watchdog cannot hold", cgroup.path() + "/" + name(file));
  return {};
}

void SpawnedWatchdog::release(const cgroup::Cgroup& cgroup, cgroup::File file) {
  if (const auto sent = send(socket_.get(), requestFor(Kind::release, cgroup, file), -1); !sent) {
    log::warning("cannot release a value held by the watchdog",
                 {{"cgroup", cgroup.path()}, {"file", name(file)}, {"error", sent.error().text()}});
  }
}

bool SpawnedWatchdog::alive() const {
  pollfd poll{.fd = socket_.get(), .events = 0, .revents = 0};
  return socket_ && ::poll(&poll, 1, 0) <= 0;  // an interrupted look has seen no end
}

bool SpawnedWatchdog::joinedRoot() const {
  return (flags_ & watchdog::kJoinedRoot) != 0;
}
bool SpawnedWatchdog::locked() const {
  return (flags_ & watchdog::kLocked) != 0;
}
bool SpawnedWatchdog::oomSpared() const {
  return (flags_ & watchdog::kOomSpared) != 0;
}

Status NoWatchdog::hold(const cgroup::Cgroup& /*cgroup*/, cgroup::File /*file*/, Limit /*ours*/, Limit /*restore*/,
                        std::optional<loop::TimePoint> /*undoAt*/) {
  return fail(Code::unsupported, "there is no watchdog");
}

std::string helperBesideAgent() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "memqos-helper" : (self.parent_path() / "memqos-helper").string();
}

}  // namespace memqos::control
