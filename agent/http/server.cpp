#include "http/server.h"

#include <microhttpd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <exception>
#include <utility>

#include "base/log.h"
#include "http/address.h"
#include "http/socket.h"
#include "loop/signals.h"

namespace memqos::http {
namespace {

constexpr unsigned kConnections = 64;
constexpr std::size_t kConnectionMemory = 16 * 1024;
constexpr unsigned kSilenceSeconds = 10;
constexpr std::size_t kBodyCap = 1024 * 1024;

// What one request has become so far.
struct Exchange {
  Request request;
  const Handler* handler = nullptr;
};

MHD_Result collect(void* data, MHD_ValueKind /*kind*/, const char* key, const char* value) {
  static_cast<Request*>(data)->query[key] = value == nullptr ? "" : value;
  return MHD_YES;
}

MHD_Result send(MHD_Connection* connection, Response response, const std::string& allowed = {}) {
  auto* body = new std::string(std::move(response.body));  // NOLINT: the library's to free, below
  MHD_Response* answer = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* owned) { delete static_cast<std::string*>(owned); }, body);
  if (answer == nullptr) {
    delete body;
    return MHD_NO;
  }
  MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response.contentType.c_str());
  if (!allowed.empty()) MHD_add_response_header(answer, MHD_HTTP_HEADER_ALLOW, allowed.c_str());
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), answer);
  MHD_destroy_response(answer);
  return queued;
}

Response run(const Handler& handler, const Request& request) {
  try {
    return handler(request);
  } catch (const std::exception& e) {  // must not unwind through the library's C
    log::error("a request failed", {{"path", request.path}, {"error", e.what()}});
  } catch (...) {
    log::error("a request failed", {{"path", request.path}});
  }
  return {500, kText, "internal error\n"};
}

// The announced length; 0 if there is none.
std::size_t announced(MHD_Connection* connection) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  std::size_t length = 0;
  if (text == nullptr) return 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), length);
  return error == std::errc::result_out_of_range ? SIZE_MAX : length;
}

// The headers are there: refuse at once, before any body, or prepare.
MHD_Result begin(const Routes& routes, MHD_Connection* connection, const char* url, const char* method, void** state) {
  Response refusal;
  std::string allowed;
  const Handler* handler = routes.find(method, url, refusal, allowed);
  if (handler != nullptr && announced(connection) > kBodyCap) {
    refusal = {413, kText, "the body is larger than 1 MiB\n"};
    handler = nullptr;
  }
  if (handler == nullptr) return send(connection, std::move(refusal), allowed);
  auto exchange = std::make_unique<Exchange>();
  exchange->handler = handler;
  exchange->request.method = method;
  exchange->request.path = url;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, collect, &exchange->request);
  *state = exchange.release();  // freed in onEnd
  return MHD_YES;
}

MHD_Result onRequest(void* data, MHD_Connection* connection, const char* url, const char* method,
                     const char* /*version*/, const char* upload, std::size_t* uploadSize, void** state) {
  if (*state == nullptr) return begin(*static_cast<const Routes*>(data), connection, url, method, state);
  auto& exchange = *static_cast<Exchange*>(*state);
  if (*uploadSize > 0) {
    // Only a chunked body gets here past the announced length; the library cannot answer in the middle of one.
    if (exchange.request.body.size() + *uploadSize > kBodyCap) return MHD_NO;
    exchange.request.body.append(upload, *uploadSize);
    *uploadSize = 0;
    return MHD_YES;
  }
  return send(connection, run(*exchange.handler, exchange.request));
}

void onEnd(void* /*data*/, MHD_Connection* /*connection*/, void** state, MHD_RequestTerminationCode /*how*/) {
  delete static_cast<Exchange*>(std::exchange(*state, nullptr));
}

}  // namespace

struct Server::Impl {
  Routes routes;
  MHD_Daemon* daemon = nullptr;
  std::uint16_t port = 0;
  std::string socketPath;  // empty: TCP
  struct stat socketFile {};
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(std::unique_ptr<Impl> impl, int fd) {
  const loop::SignalsBlocked blocked;  // for the library's thread
  impl->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr, onRequest,
                                  &impl->routes, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                  kConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
                                  MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                                  MHD_OPTION_NOTIFY_COMPLETED, onEnd, nullptr, MHD_OPTION_END);
  if (impl->daemon == nullptr) return fail(Code::io, "cannot start the HTTP server");
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<std::unique_ptr<Server>> Server::onTcp(std::string_view text, Routes routes) {
  const auto address = parseAddress(text);
  if (!address) return tl::unexpected(address.error());
  auto listening = listenTcp(*address);
  if (!listening) return tl::unexpected(std::move(listening).error());
  auto impl = std::make_unique<Impl>();
  impl->routes = std::move(routes);
  impl->port = listening->port;
  return start(std::move(impl), listening->fd.release());
}

Result<std::unique_ptr<Server>> Server::onUnix(const std::string& path, Routes routes) {
  auto listening = listenUnix(path);
  if (!listening) return tl::unexpected(std::move(listening).error());
  auto impl = std::make_unique<Impl>();
  impl->routes = std::move(routes);
  impl->socketPath = path;
  if (::lstat(path.c_str(), &impl->socketFile) != 0) return failErrno(errno, "the socket has vanished", path);
  return start(std::move(impl), listening->release());
}

Server::~Server() {
  struct stat now {};
  // Not the one of an agent that came after us.
  if (!impl_->socketPath.empty() && ::lstat(impl_->socketPath.c_str(), &now) == 0 &&
      now.st_ino == impl_->socketFile.st_ino && now.st_dev == impl_->socketFile.st_dev) {
    ::unlink(impl_->socketPath.c_str());
  }
  MHD_stop_daemon(impl_->daemon);
}

std::uint16_t Server::port() const {
  return impl_->port;
}

}  // namespace memqos::http
