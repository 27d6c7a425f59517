#include "kube/transport/failure.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <cerrno>
#include <cstring>

namespace memqos::kube {
namespace {

// An errno is never that large; a packed OpenSSL number holds its library above bit 22 (ERR_PACK in openssl/err.h).
constexpr int kFirstPacked = 1 << 20;

Error tlsFailure(unsigned long packed) {
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);  // does it once
  const char* reason = ERR_reason_error_string(packed);
  const int code = ERR_GET_REASON(packed);
  const bool verify = ERR_GET_LIB(packed) == ERR_LIB_SSL && code == SSL_R_CERTIFICATE_VERIFY_FAILED;
  std::string sentence = fmt::format("TLS: {}", reason == nullptr ? "failure" : reason);
  if (verify) sentence += ": the server's certificate is not of the cluster's CA, or not for this address";
  return {Code::denied, 0, {}, std::move(sentence)};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Error decodeFailure(int value, std::string_view category, std::string_view text) {
  if (value >= kFirstPacked || value < 0) return tlsFailure(static_cast<unsigned long>(static_cast<unsigned>(value)));
  // The library hides a handshake that failed without a number, as a server does that wants a client certificate.
  if (contains(text, "SSL handshake")) return {Code::denied, 0, {}, "TLS: the handshake failed"};
  if (contains(text, "resolving address")) return {Code::io, 0, {}, "the server's name cannot be resolved"};
  if (value == ETIMEDOUT) return {Code::timeout, ETIMEDOUT, {}, "the server does not answer"};
  if (value == ECANCELED) return {Code::again, 0, {}, "stopped"};
  if (contains(text, "Failed to read HTTP status line"))
    return {Code::io, 0, {}, "the server closed the connection instead of answering"};
  if (contains(text, "invalid") || contains(text, "chunk"))
    return {Code::io, 0, {}, fmt::format("the connection broke ({})", text)};
  if (value > 0 && (category == "system" || category == "generic"))
    return {codeOf(value) == Code::denied ? Code::denied : Code::io, value, {}, "no connection to the server"};
  return {Code::io, 0, {}, fmt::format("the connection failed ({})", text)};
}

}  // namespace memqos::kube
