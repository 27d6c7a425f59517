#include "kube/transport/cpprest.h"

#define _TURN_OFF_PLATFORM_STRING  // its macro U breaks other headers
#include <cpprest/http_client.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pplx/threadpool.h>

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "kube/transport/body_sink.h"
#include "kube/transport/failure.h"
#include "loop/signals.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using web::http::client::http_client;
using Clock = std::chrono::steady_clock;

constexpr unsigned kPoolThreads = 2;
constexpr auto kPatience = 2s;                 // for a cancelled request to end
constexpr auto kLibraryTimeout = 24h;          // ours are the ones that count
constexpr std::size_t kMaterialCap = 1 << 20;  // of tokens, certificates, keys
constexpr std::int64_t kLongestRetryAfter = 3600;

void startPool() {
  static std::once_flag once;
  std::call_once(once, [] {
    const loop::SignalsBlocked blocked;
    crossplat::threadpool::initialize_with_threads(kPoolThreads);
  });
}

Result<std::string> read(const Material& material) {
  if (material.file.empty()) return material.data;
  return readFile(material.file, kMaterialCap);
}

// Only the cluster's CA, whatever the library loaded before. Runs for each new connection, so that a rotated CA counts.
void trustOnly(SSL_CTX* context, const std::string& pem) {
  X509_STORE* store = X509_STORE_new();
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
  }
  ERR_clear_error();  // the end of the text is one to OpenSSL
  BIO_free(bio);
  SSL_CTX_set_cert_store(context, store);  // takes it over
}

void prepare(boost::asio::ssl::context& context, const Access& access) {
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  const auto ca = read(access.ca);
  if (!ca) log::warning("the cluster's CA cannot be read", {{"error", ca.error().text()}});
  trustOnly(context.native_handle(), ca.value_or(""));
  if (access.clientCertificate.empty()) return;
  const auto certificate = read(access.clientCertificate);
  const auto key = read(access.clientKey);
  boost::system::error_code error;
  if (certificate && key) {
    context.use_certificate_chain(boost::asio::buffer(*certificate), error);
    if (!error) context.use_private_key(boost::asio::buffer(*key), boost::asio::ssl::context::pem, error);
  }
  if (!certificate || !key || error)
    log::warning("the client certificate cannot be used", {{"error", !certificate ? certificate.error().text()
                                                                     : !key       ? key.error().text()
                                                                                  : error.message()}});
}

web::http::client::http_client_config configOf(const std::shared_ptr<const Access>& access) {
  web::http::client::http_client_config config;
  config.set_max_redirects(0);  // it would carry the token to any host
  config.set_timeout(kLibraryTimeout);
  config.set_ssl_context_callback([access](boost::asio::ssl::context& context) { prepare(context, *access); });
  return config;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string textOf(const web::http::http_headers& headers, const char* name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Head headOf(const web::http::http_response& response) {
  Head out{response.status_code(), textOf(response.headers(), "Content-Type"), std::nullopt};
  const std::string after = textOf(response.headers(), "Retry-After");
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(after.data(), after.data() + after.size(), seconds);
  if (parsed.ec == std::errc() && parsed.ptr == after.data() + after.size() && seconds >= 0)
    out.retryAfter = std::chrono::seconds(std::min(seconds, kLongestRetryAfter));
  return out;
}

Error errorOf(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const web::http::http_exception& e) {
    return decodeFailure(e.error_code().value(), e.error_code().category().name(), e.what());
  } catch (const pplx::task_canceled&) {
    return {Code::again, 0, {}, "stopped"};
  } catch (const std::exception& e) {
    return decodeFailure(0, "", e.what());
  }
}

class CpprestTransport final : public Transport {
 public:
  explicit CpprestTransport(Access access)
      : access_(std::make_shared<const Access>(std::move(access))),
        reads_(std::make_shared<http_client>(access_->server, configOf(access_))) {}

  Result<Head> stream(const Request& request, const Part& part, std::stop_token stop) override {
    auto message = messageOf(request);
    if (!message) return tl::unexpected(std::move(message.error()));
    const auto exchange = std::make_shared<Exchange>();
    const auto sink = std::make_shared<BodySink>(exchange);
    message->set_response_stream(Concurrency::streams::streambuf<std::uint8_t>(sink).create_ostream());
    try {
      // The library sends again on a connection that was closed meanwhile: what changes something gets a new one.
      const auto client =
          request.method == "GET" ? reads_ : std::make_shared<http_client>(access_->server, configOf(access_));
      pplx::cancellation_token_source cancel;
      begin(client, *message, cancel.get_token(), exchange);
      auto result = follow(*exchange, request, part, stop);
      if (!result || !result->ended) cancel.cancel();
      const bool over = exchange->abandon(kPatience);
      if (!over) log::warning("a request to the API server does not end", {{"path", request.path}});
      if (!result) return tl::unexpected(std::move(result.error()));
      return std::move(result->head);
    } catch (const std::exception& e) {
      return fail(Code::invalid, fmt::format("the request cannot be made ({})", e.what()), request.path);
    }
  }

 private:
  struct Followed {
    Head head;
    bool ended = false;  // else the reader had enough
  };

  Result<web::http::http_request> messageOf(const Request& request) const {
    web::http::http_request message(request.method);
    std::string target = web::uri::encode_uri(request.path, web::uri::components::path);
    char separator = '?';
    for (const auto& [key, value] : request.query) {
      target += separator + web::uri::encode_data_string(key) + "=" + web::uri::encode_data_string(value);
      separator = '&';
    }
    message.set_request_uri(web::uri(target));
    message.headers().add("Accept", "application/json");
    message.headers().add("User-Agent", fmt::format("memqos-agent/{}", version()));
    if (!access_->token.empty()) {
      auto token = read(access_->token);
      if (!token) return tl::unexpected(std::move(token.error()).in("the token cannot be read"));
      message.headers().add("Authorization", "Bearer " + trimmed(std::move(*token)));
    }
    if (!request.body.empty()) message.set_body(request.body, "application/json");
    return message;
  }

  // A continuation that does not catch ends the process once nobody looks at its task; and none may block.
  static void begin(const std::shared_ptr<http_client>& client, const web::http::http_request& message,
                    const pplx::cancellation_token& token, const std::shared_ptr<Exchange>& exchange) {
    client->request(message, token).then([exchange, client](const pplx::task<web::http::http_response>& task) {
      try {
        const auto response = task.get();
        exchange->head(headOf(response));
        response.content_ready().then([exchange, client](const pplx::task<web::http::http_response>& whole) {
          try {
            whole.get();
            exchange->end(nullptr);
          } catch (...) {
            exchange->end(std::current_exception());
          }
        });
      } catch (...) {
        exchange->end(std::current_exception());
      }
    });
  }

  static Result<Followed> follow(Exchange& exchange, const Request& request, const Part& part,
                                 const std::stop_token& stop) {
    const auto deadline = Clock::now() + request.deadline;
    for (bool headed = false;;) {
      const auto taken = exchange.next(std::min(deadline, Clock::now() + request.idle), stop);
      switch (taken.what) {
        case Exchange::What::head:
          headed = true;
          if (const int status = exchange.head().status; status >= 300 && status < 400)
            return fail(Code::invalid, fmt::format("the server redirects elsewhere (HTTP {}); not followed", status),
                        request.path);
          if (!part(exchange.head(), {})) return Followed{exchange.head(), false};
          break;
        case Exchange::What::part: {
          const bool more = part(exchange.head(), taken.part);
          exchange.done();
          if (!more) return Followed{exchange.head(), false};
          break;
        }
        case Exchange::What::end:
          if (taken.error) {
            Error error = errorOf(taken.error);
            error.path = request.path;
            return tl::unexpected(std::move(error));
          }
          return Followed{exchange.head(), true};
        case Exchange::What::stopped:
          return fail(Code::again, "stopped", request.path);
        case Exchange::What::late:
          return fail(Code::timeout, headed ? "the server fell silent" : "the server does not answer", request.path);
      }
    }
  }

  std::shared_ptr<const Access> access_;
  std::shared_ptr<http_client> reads_;
};

}  // namespace

void distrustSystemStore() {
  ::setenv("SSL_CERT_FILE", "/dev/null", 1);
  ::setenv("SSL_CERT_DIR", "/nonexistent", 1);
}

Result<std::unique_ptr<Transport>> makeTransport(Access access) {
  startPool();
  try {
    return std::make_unique<CpprestTransport>(std::move(access));
  } catch (const std::exception& e) {
    return fail(Code::invalid, fmt::format("not the address of a server ({})", e.what()));
  }
}

}  // namespace memqos::kube
