// An answer on the agent's socket, which may be somebody else's; addresses of the configuration.
#include "http/address.h"
#include "http/client.h"
#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  const auto whole = http::parseResponse(text);
  const auto head = http::parseResponse(text, true);
  require(head || !whole, "an answer has a head");
  if (whole) {
    require(whole->status >= 100 && whole->status <= 599, "a status is one of HTTP");
    require(whole->body.size() <= size, "no body out of nothing");
  }
  if (head) require(head->body.empty(), "the answer to a HEAD has no body");
  if (const auto address = http::parseAddress(text)) {
    const auto bracketed = address->host.find(':') != std::string::npos ? "[" + address->host + "]" : address->host;
    const auto again = http::parseAddress(bracketed + ":" + std::to_string(address->port));
    require(again && *again == *address, "an address prints as itself");
  }
  return 0;
}
