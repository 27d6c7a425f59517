// Certificates for tests, made as they are needed: a CA, and what it signs.
#pragma once

#include <string>

namespace memqos::testing {

struct TlsIdentity {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

// A CA of its own; throws std::runtime_error where OpenSSL fails, since a test cannot go on without.
TlsIdentity makeCa(const std::string& name);
// Signed by `ca`, good for an hour, for the subjectAltName `names` ("IP:127.0.0.1,DNS:localhost"); also as a client.
TlsIdentity issue(const TlsIdentity& ca, const std::string& name, const std::string& names);

}  // namespace memqos::testing
