#include "http/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

namespace memqos::http {
namespace {

bool parsePort(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end;
}

bool isAddress(int family, const std::string& host) {
  in6_addr room{};
  return ::inet_pton(family, host.c_str(), &room) == 1;
}

}  // namespace

Result<Address> parseAddress(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, fmt::format("\"{}\" is not an address to listen on: {}", text, why));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("write HOST:PORT, for example 127.0.0.1:9464");
  Address address;
  if (!parsePort(text.substr(colon + 1), address.port)) return bad("the port is a number from 0 to 65535");
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  address.host = host;
  if (host.find('\0') != std::string_view::npos) return bad("the host is an IP address");
  if (brackets && !isAddress(AF_INET6, address.host)) return bad("between the brackets goes an IPv6 address");
  if (!brackets && !host.empty() && !isAddress(AF_INET, address.host)) {
    return bad("the host is an IPv4 address, an IPv6 address in brackets, or empty for all");
  }
  return address;
}

}  // namespace memqos::http
