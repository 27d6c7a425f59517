// For the tests of this room: bytes over a socket, as a client that does what it likes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace memqos::http {

inline Fd connectTcp(std::uint16_t port, const char* host = "127.0.0.1") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
  return fd;
}

inline void sendText(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // refused in the middle
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

inline std::string readAll(const Fd& fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t length = 0; (length = ::recv(fd.get(), buffer, sizeof(buffer), 0)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(length));
  }
  return all;
}

// A folder that ends with the test.
class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/memqos-http-XXXXXX";
    path_ = ::mkdtemp(name) != nullptr ? name : "";
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace memqos::http
