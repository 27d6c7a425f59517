// One HTTP request to the agent over its unix socket.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace memqos::http {

// `target` is the path with its query, already percent-encoded; `timeout` is for the whole. Any status is a response.
// Errors: gone ("no agent is running (cannot connect to PATH)"), denied, timeout, invalid (a target or method with
// blanks, an answer that is not HTTP, is cut short, or is larger than 64 MiB), io.
Result<Response> request(const std::string& socketPath, std::string_view method, std::string_view target,
                         std::string_view body, std::chrono::milliseconds timeout);

// A whole HTTP/1.x answer, as read until the connection's end: by Content-Length, chunked, or all the rest. `head`: the
// answer to a HEAD, which has no body. Errors: invalid.
Result<Response> parseResponse(std::string_view text, bool head = false);

}  // namespace memqos::http
