#include "helper/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>

#include "control/watchdog_protocol.h"
#include "helper/holds.h"

namespace memqos::helper {
namespace {

using watchdog::Kind;
using watchdog::Reply;
using watchdog::Request;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

bool writeTo(const char* path, std::string_view text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// Inherited stdio would keep the agent's container alive (the spawn closes the rest), and nobody's signal may end us.
void detach() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM}) {
    ::signal(signal, SIG_IGN);
  }
  if (::chdir("/") != 0) return;  // cannot happen
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) {
    if (null >= 0) {
      ::dup2(null, fd);
    } else {
      ::close(fd);
    }
  }
  if (null > 2) ::close(null);
}

// All best effort; the flags tell the agent, which then does without what needs it.
std::uint32_t settle(const WatchdogOptions& options) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  std::uint32_t flags = 0;
  if (options.rootProcs >= 0) {
    if (::write(options.rootProcs, "0", 1) == 1) flags |= watchdog::kJoinedRoot;
    ::close(options.rootProcs);
  }
  if (writeTo("/proc/self/oom_score_adj", "-999")) flags |= watchdog::kOomSpared;
  if (::mlockall(MCL_CURRENT) == 0) flags |= watchdog::kLocked;
  return flags;
}

// Mapped after mlockall: only the pages in use are locked.
std::span<Hold> mapTable() {
  constexpr std::size_t kSize = watchdog::kMostHolds * sizeof(Hold);
  void* table = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) return {};
  ::mlock2(table, kSize, MLOCK_ONFAULT);
  return {static_cast<Hold*>(table), watchdog::kMostHolds};
}

// An agent that does not listen must not block us.
void reply(int socket, const Reply& message) {
  ::send(socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct Received {
  Request request;
  int fd = -1;
  int error = 0;  // what to answer instead of acting
};

// False: the agent is gone.
bool receive(int socket, Received& received) {
  iovec data{&received.request, sizeof(received.request)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (length == 0) return false;
  if (length < 0) {
    received.error = errno;
    return errno == EINTR || errno == EAGAIN;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&received.fd, CMSG_DATA(header), sizeof(int));
  }
  if (static_cast<std::size_t>(length) != sizeof(Request) || received.request.magic != watchdog::kMagic) {
    received.error = EPROTO;
  } else if ((message.msg_flags & MSG_CTRUNC) != 0) {
    received.error = EMFILE;  // our descriptor table is full
  }
  return true;
}

// False: the agent is gone.
bool serveOne(int socket, Holds& holds) {
  Received received;
  if (!receive(socket, received)) return false;
  const Request& request = received.request;
  if (received.error == EINTR || received.error == EAGAIN) return true;
  Reply answer{.kind = request.kind, .sequence = request.sequence, .error = received.error};
  if (received.error == 0 && request.kind == Kind::hold) {
    answer.error = holds.hold(request, received.fd);
    received.fd = -1;
  } else if (received.error == 0 && request.kind == Kind::release) {
    holds.release(request.cgroup, request.file);
  } else if (received.error == 0) {
    answer.error = EPROTO;
  }
  if (received.fd >= 0) ::close(received.fd);
  if (request.kind != Kind::release || answer.error != 0) reply(socket, answer);
  return true;
}

// Sleeps until the agent says something or an undo is due.
void wait(int socket, std::int64_t until) {
  pollfd poll{.fd = socket, .events = POLLIN, .revents = 0};
  timespec left{};
  if (until != 0) {
    const std::int64_t rest = until - now();
    if (rest > 0) left = {rest / 1'000'000'000, rest % 1'000'000'000};
  }
  ::ppoll(&poll, 1, until != 0 ? &left : nullptr, nullptr);
}

}  // namespace

int runWatchdog(const WatchdogOptions& options) {
  detach();
  const std::uint32_t flags = settle(options);
  Holds holds(mapTable());
  const Reply hello{.kind = Kind::hello, .flags = flags};
  if (::send(options.socket, &hello, sizeof(hello), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(hello))) return 1;
  do {
    wait(options.socket, holds.nextUndo());
    holds.undoDue(now());
  } while (serveOne(options.socket, holds));
  ::close(options.socket);
  holds.undoAll(now());
  while (const std::int64_t next = holds.nextUndo()) {
    wait(-1, next);
    holds.undoDue(now());
  }
  return 0;
}

}  // namespace memqos::helper
