// Sockets that listen, made so that every failure says what to change.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "http/address.h"

namespace memqos::http {

struct Listening {
  Fd fd;
  std::uint16_t port = 0;  // TCP only
};

// "::" and the empty host also take IPv4. Errors: again (in use), denied, invalid (no such address here), io.
Result<Listening> listenTcp(const Address& address);

// With mode 0600; a missing parent folder is made with 0700. A socket that nobody answers on is replaced, anything else
// at that path is not. Errors: again (somebody answers), invalid (something else, or the path is too long), denied, io.
Result<Fd> listenUnix(const std::string& path);

// Errors: gone (ENOENT, ECONNREFUSED: nobody listens), denied, timeout (its queue stays full), invalid, io.
Result<Fd> connectUnix(const std::string& path, int timeoutMs);

}  // namespace memqos::http
