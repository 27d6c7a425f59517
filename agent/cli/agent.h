// Questions to the agent that runs on this node.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/context.h"

namespace memqos::cli {

struct Refusal {
  int status = kNodeLacks;  // exit status
  bool noAgent = false;     // nobody listens on the socket
  std::string sentence;
};

// Sends the request to the socket in `runDir` and reads the JSON answer.
tl::expected<document::Node, Refusal> ask(Context& context, const std::string& runDir, const std::string& method,
                                          const std::string& target);

// `text` as the value of a query parameter (RFC 3986: all but unreserved characters as %XX).
std::string percentEncoded(std::string_view text);

}  // namespace memqos::cli
