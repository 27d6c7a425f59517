// host:port, strictly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace memqos::http {

struct Address {
  std::string host;        // an IPv4 or IPv6 address without brackets; empty: every address of the node
  std::uint16_t port = 0;  // 0: the kernel chooses
  bool operator==(const Address&) const = default;
};

// "127.0.0.1:9464", "[::1]:0", "[::]:9464", ":9464". Names are not looked up. Errors: invalid.
Result<Address> parseAddress(std::string_view text);

}  // namespace memqos::http
