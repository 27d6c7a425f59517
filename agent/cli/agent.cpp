#include "cli/agent.h"

#include <fmt/format.h>

#include <cerrno>

namespace memqos::cli {
namespace {

Refusal unreachable(const Error& error, const std::string& socket) {
  if (error.code == Code::denied) {
    return {kUserError, false, fmt::format("{}: the agent's socket is for root", error.text())};
  }
  if (error.code == Code::gone || error.sysErrno == ECONNREFUSED) {
    return {kNodeLacks, true,
            fmt::format("no agent runs here: nobody listens on {} (memqos-agent run; --run-dir)", socket)};
  }
  return {kNodeLacks, false, fmt::format("the agent at {} does not answer: {}", socket, error.text())};
}

// Why the agent refuses: {"error": SENTENCE}, or a line of text from the server below it.
std::string refusalOf(const std::string& body) {
  if (const auto parsed = document::parseJson(body)) {
    if (const document::Node* error = parsed->find("error")) return error->scalar;
  }
  return body.substr(0, body.find('\n'));
}

}  // namespace

tl::expected<document::Node, Refusal> ask(Context& context, const std::string& runDir, const std::string& method,
                                          const std::string& target) {
  const std::string socket = runDir + "/agent.sock";
  const auto reply = context.world.request(socket, method, target);
  if (!reply) return tl::unexpected(unreachable(reply.error(), socket));
  if (reply->status != 200) {
    const bool asked = reply->status >= 400 && reply->status < 500;
    const std::string why = refusalOf(reply->body);
    return tl::unexpected(
        Refusal{asked ? kUserError : kNodeLacks, false,
                why.empty() ? fmt::format("the agent answers {} to {}", reply->status, target) : why});
  }
  auto body = document::parseJson(reply->body);
  if (!body)
    return tl::unexpected(Refusal{kNodeLacks, false, "the agent's answer is not JSON: " + body.error().error.text()});
  return std::move(*body);
}

std::string percentEncoded(std::string_view text) {
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace memqos::cli
