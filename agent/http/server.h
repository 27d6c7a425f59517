// Paths and handlers behind a TCP port or a unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace memqos::http {

// Runs on the server's thread, one at a time: it should not wait long (see on_loop.h). An exception becomes a 500.
using Handler = std::function<Response(const Request&)>;

class Routes {
 public:
  // Exact matches only. A GET also answers HEAD. Other methods of a known path get 405, other paths 404.
  Routes& add(std::string method, std::string path, Handler handler);
  // The handler, or the refusal in `refusal` and the path's methods in `allowed`.
  [[nodiscard]] const Handler* find(std::string_view method, const std::string& path, Response& refusal,
                                    std::string& allowed) const;

 private:
  std::map<std::string, std::map<std::string, Handler, std::less<>>> byPath_;
};

// One thread on epoll. Connections: 64 at most, 16 KiB of memory each, closed after 10 s of silence; a body of more
// than 1 MiB is refused with 413.
class Server {
 public:
  // `address` as parseAddress() takes it. Errors are sentences that say what to change: see socket.h.
  static Result<std::unique_ptr<Server>> onTcp(std::string_view address, Routes routes);
  // The socket is removed when the server ends. Errors: see listenUnix().
  static Result<std::unique_ptr<Server>> onUnix(const std::string& path, Routes routes);
  // Waits for the handler that runs.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // 0 on a unix socket.
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<Server>> start(std::unique_ptr<Impl> impl, int fd);
  std::unique_ptr<Impl> impl_;
};

}  // namespace memqos::http
