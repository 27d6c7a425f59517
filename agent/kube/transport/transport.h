// Requests to the API server, as plain values. What carries them is replaceable: nothing here names a library.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace memqos::kube {

using Milliseconds = std::chrono::milliseconds;

struct Request {
  std::string method = "GET";
  std::string path;                                          // "/api/v1/pods", below the server's own prefix
  std::vector<std::pair<std::string, std::string>> query{};  // not encoded
  std::string body{};                                        // JSON
  Milliseconds deadline{30'000};                             // for the whole
  Milliseconds idle{30'000};                                 // for the head, and from one part of the body to the next
};

// What comes before the body.
struct Head {
  int status = 0;
  std::string contentType;
  std::optional<std::chrono::seconds> retryAfter;  // only in its form as a number of seconds, at most an hour
};

struct Response {
  Head head;
  std::string body;
};

// Any thread may call, also several at once; a call blocks its own thread only.
class Transport {
 public:
  virtual ~Transport() = default;
  // A part of the body, of any size and cut anywhere, on the calling thread; nothing more is read before it returns.
  // The first is empty and comes with the head, as soon as that is there. False: enough, the connection is closed.
  using Part = std::function<bool(const Head&, std::string_view)>;
  // Any status is an answer, but 3xx is an error: nobody is followed anywhere. Credentials are read anew. Errors:
  // timeout (deadline or idle passed), again (stopped), denied (TLS: nobody to be trusted; credentials that cannot be
  // read), invalid (a redirect, no HTTP), io (no connection, a connection that broke: the sentence says which).
  virtual Result<Head> stream(const Request& request, const Part& part, std::stop_token stop) = 0;
};

// The whole answer. Errors: as of stream(), invalid (a body of more than `cap` bytes).
Result<Response> call(Transport& transport, const Request& request, std::stop_token stop,
                      std::size_t cap = std::size_t{1} << 20);

}  // namespace memqos::kube
