#include "kube/transport/transport.h"

#include <fmt/format.h>

namespace memqos::kube {

Result<Response> call(Transport& transport, const Request& request, std::stop_token stop, std::size_t cap) {
  Response out;
  bool tooMuch = false;
  auto head = transport.stream(
      request,
      [&](const Head&, std::string_view part) {
        tooMuch = out.body.size() + part.size() > cap;
        if (!tooMuch) out.body += part;
        return !tooMuch;
      },
      std::move(stop));
  if (!head) return tl::unexpected(std::move(head.error()));
  if (tooMuch) return fail(Code::invalid, fmt::format("the answer has more than {} bytes", cap), request.path);
  out.head = std::move(*head);
  return out;
}

}  // namespace memqos::kube
