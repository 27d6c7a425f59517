// An HTTP/1.1 server that does what a test says, also what no real API server could be made to do: it cuts lines, falls
// silent, breaks off, lies. On 127.0.0.1, a port of the kernel's choice, with or without TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testing/tls_identity.h"

namespace memqos::testing {

class ReplayServer {
 public:
  struct Request {
    std::string method;
    std::string target;                          // "/api/v1/pods?watch=1"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    [[nodiscard]] std::string path() const { return target.substr(0, target.find('?')); }
    [[nodiscard]] std::string query(const std::string& key) const;  // decoded; "" where absent
  };
  // One connection while a handler runs. When the handler returns it stays open for the next request, unless it was
  // closed. Nothing throws: a client may be gone.
  class Connection {
   public:
    virtual ~Connection() = default;
    virtual void send(std::string_view bytes) = 0;  // as they are
    virtual void close() = 0;                       // at once
    // Until the client closes; false: the time is over, or the server stops.
    virtual bool waitForEnd(std::chrono::milliseconds limit) = 0;
    // A whole answer with Content-Length.
    void answer(int status, std::string_view body, std::string_view contentType = "application/json",
                std::string_view moreHeaders = "");
    // A body in chunks: the head, then chunks, then the end.
    void beginChunks(int status = 200, std::string_view contentType = "application/json");
    void chunk(std::string_view bytes);
    void endChunks() { send("0\r\n\r\n"); }
  };
  using Handler = std::function<void(const Request&, Connection&)>;

  // Each connection has a thread of its own, which calls `handler`. With `tls` it speaks TLS, and with `clientCa` it
  // wants a client's certificate of that CA.
  explicit ReplayServer(Handler handler, const std::optional<TlsIdentity>& tls = {}, const std::string& clientCa = "");
  ~ReplayServer();  // breaks every connection
  ReplayServer(const ReplayServer&) = delete;
  ReplayServer& operator=(const ReplayServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // "https://127.0.0.1:PORT"
  [[nodiscard]] std::vector<Request> requests() const;
  // False: it did not hold within a time that no test should need.
  [[nodiscard]] bool waitFor(const std::function<bool(const std::vector<Request>&)>& holds) const;
  void breakConnections();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memqos::testing
