#include "http/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace memqos::http {
namespace {

constexpr int kBacklog = 64;

// The socket calls want any kind of address as a sockaddr.
template <typename T>
const sockaddr* generic(const T& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

Result<sockaddr_un> unixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(
        Code::invalid,
        fmt::format("a socket's path has 1 to {} bytes: choose a shorter --run-dir", sizeof(address.sun_path) - 1),
        path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

tl::unexpected<Error> cannotListen(const Address& address, int error) {
  const bool brackets = address.host.find(':') != std::string::npos;
  const auto where = fmt::format("{}{}{}:{}", brackets ? "[" : "", address.host, brackets ? "]" : "", address.port);
  const char* advice = "choose another with --listen or metrics.listen";
  if (error == EADDRINUSE) advice = "another process has that port: choose another with --listen or metrics.listen";
  if (error == EADDRNOTAVAIL) advice = "this node has no such address: choose another with --listen or metrics.listen";
  if (error == EACCES) advice = "ports below 1024 need a privilege: choose another with --listen or metrics.listen";
  auto failed = failErrno(error, fmt::format("cannot listen on {}; {}", where, advice));
  if (error == EADDRINUSE) failed.value().code = Code::again;
  if (error == EADDRNOTAVAIL) failed.value().code = Code::invalid;
  return failed;
}

template <typename T>
Result<Listening> bindAndListen(const Address& address, Fd fd, const T& bound) {
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd.get(), generic(bound), sizeof(bound)) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return cannotListen(address, errno);
  }
  sockaddr_in6 actual{};  // the greater of the two; both have the port at the same place
  socklen_t size = sizeof(actual);
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&actual), &size) != 0) return cannotListen(address, errno);
  return Listening{std::move(fd), ntohs(actual.sin6_port)};
}

Result<Listening> listenV4(const Address& address) {
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_port = htons(address.port);
  if (!address.host.empty() && ::inet_pton(AF_INET, address.host.c_str(), &bound.sin_addr) != 1) {
    return cannotListen(address, EINVAL);
  }
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return cannotListen(address, errno);
  return bindAndListen(address, std::move(fd), bound);
}

Result<Listening> listenV6(const Address& address) {
  sockaddr_in6 bound{};
  bound.sin6_family = AF_INET6;
  bound.sin6_port = htons(address.port);
  if (!address.host.empty() && ::inet_pton(AF_INET6, address.host.c_str(), &bound.sin6_addr) != 1) {
    return cannotListen(address, EINVAL);
  }
  Fd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return cannotListen(address, errno);
  const int only = 0;
  ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  return bindAndListen(address, std::move(fd), bound);
}

// Makes room for a new socket at `path`.
Status clearPath(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failErrno(errno, "cannot look at the socket", path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(Code::invalid, "something that is no socket is in the way: remove it, or choose another --run-dir",
                path);
  }
  const auto connected = connectUnix(path, 1000);
  if (connected || connected.error().code == Code::timeout) {
    return fail(Code::again, "another agent answers on this socket: stop it, or choose another --run-dir", path);
  }
  if (connected.error().code != Code::gone) return tl::unexpected(connected.error());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failErrno(errno, "cannot replace the old socket", path);
  return {};
}

Status makeParent(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string parent = path.substr(0, slash);
  if (::mkdir(parent.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return failErrno(errno, "cannot make the socket's folder: make it, or choose another --run-dir", parent);
}

}  // namespace

Result<Listening> listenTcp(const Address& address) {
  if (address.host.find(':') != std::string::npos) return listenV6(address);
  if (!address.host.empty()) return listenV4(address);
  auto both = listenV6(address);
  // A kernel without IPv6.
  if (!both && (both.error().sysErrno == EAFNOSUPPORT || both.error().sysErrno == EADDRNOTAVAIL))
    return listenV4(address);
  return both;
}

Result<Fd> listenUnix(const std::string& path) {
  const auto address = unixAddress(path);
  if (!address) return tl::unexpected(address.error());
  if (auto made = makeParent(path); !made) return tl::unexpected(made.error());
  if (auto cleared = clearPath(path); !cleared) return tl::unexpected(cleared.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // The socket's own mode becomes the file's: there is no moment at which others may connect, and no umask to change.
  if (!fd || ::fchmod(fd.get(), 0600) != 0 || ::bind(fd.get(), generic(*address), sizeof(*address)) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return failErrno(errno, "cannot listen on the socket; choose another --run-dir", path);
  }
  return fd;
}

Result<Fd> connectUnix(const std::string& path, int timeoutMs) {
  const auto address = unixAddress(path);
  if (!address) return tl::unexpected(address.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return failErrno(errno, "cannot make a socket");
  const timeval limit{timeoutMs / 1000, (timeoutMs % 1000) * 1000L};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(fd.get(), generic(*address), sizeof(*address)) == 0) return fd;
  const int error = errno;
  if (error == ENOENT || error == ECONNREFUSED) {
    auto failed = failErrno(error, fmt::format("no agent is running (cannot connect to {})", path));
    failed.value().code = Code::gone;
    return failed;
  }
  if (error == EAGAIN) return fail(Code::timeout, "the agent is too busy to answer", path);
  return failErrno(error, "cannot connect to the agent", path);
}

}  // namespace memqos::http
