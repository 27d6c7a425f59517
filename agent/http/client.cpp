#include "http/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "http/socket.h"

namespace memqos::http {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kCap = 64UL * 1024 * 1024;

int millisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 1'000'000'000));
}

Status waitFor(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    pollfd poll{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&poll, 1, millisecondsUntil(deadline));
    if (ready > 0) return {};
    if (ready == 0) return fail(Code::timeout, "the agent did not answer in time");
    if (errno != EINTR) return failErrno(errno, "cannot wait for the agent");
  }
}

Status sendAll(int fd, std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = waitFor(fd, POLLOUT, deadline); !ready) return ready;
    } else if (errno == EPIPE) {
      return {};  // refused before all was read: its answer says why
    } else if (errno != EINTR) {
      return failErrno(errno, "cannot send to the agent");
    }
  }
  return {};
}

Result<std::string> receiveAll(int fd, Clock::time_point deadline) {
  std::string all;
  constexpr std::size_t kStep = 64UL * 1024;
  const auto buffer = std::make_unique<std::array<char, kStep>>();
  for (;;) {
    const ssize_t length = ::recv(fd, buffer->data(), buffer->size(), MSG_DONTWAIT);
    if (length == 0) return all;
    if (length > 0) {
      all.append(buffer->data(), static_cast<std::size_t>(length));
      if (all.size() > kCap) return fail(Code::invalid, "the agent's answer is larger than 64 MiB");
    } else if (errno == EAGAIN) {
      if (auto ready = waitFor(fd, POLLIN, deadline); !ready) return tl::unexpected(ready.error());
    } else if (errno == ECONNRESET && !all.empty()) {
      return all;  // it closed with our body unread; the answer came before
    } else if (errno != EINTR) {
      return failErrno(errno, "cannot read the agent's answer");
    }
  }
}

bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

Result<Response> request(const std::string& socketPath, std::string_view method, std::string_view target,
                         std::string_view body, std::chrono::milliseconds timeout) {
  if (!isWord(method) || !isWord(target)) {
    return fail(Code::invalid, "a method or target has blanks or control characters");
  }
  const auto deadline = Clock::now() + timeout;
  const auto fd = connectUnix(socketPath, std::max(millisecondsUntil(deadline), 1));
  if (!fd) return tl::unexpected(fd.error());
  std::string message = fmt::format("{} {} HTTP/1.1\r\nHost: memqos\r\nConnection: close\r\n", method, target);
  if (!body.empty()) message += fmt::format("Content-Length: {}\r\n", body.size());
  message += "\r\n";
  message += body;
  if (auto sent = sendAll(fd->get(), message, deadline); !sent) return tl::unexpected(sent.error());
  auto answer = receiveAll(fd->get(), deadline);
  if (!answer) return tl::unexpected(answer.error());
  return parseResponse(*answer, method == "HEAD");
}

}  // namespace memqos::http
