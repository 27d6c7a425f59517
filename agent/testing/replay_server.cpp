#include "testing/replay_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/fd.h"

namespace memqos::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 20ms;
constexpr auto kPatience = 20s;

struct ContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, ContextDeleter>;

TlsContext contextFor(const TlsIdentity& identity, const std::string& clientCa) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  const auto bio = [](const std::string& text) { return BIO_new_mem_buf(text.data(), static_cast<int>(text.size())); };
  BIO* text = bio(identity.certificate);
  X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  text = bio(identity.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  const bool good =
      SSL_CTX_use_certificate(context.get(), certificate) == 1 && SSL_CTX_use_PrivateKey(context.get(), key) == 1;
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (!good) throw std::runtime_error("the server's certificate cannot be used");
  if (!clientCa.empty()) {
    text = bio(clientCa);
    X509* ca = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

bool readable(int fd, std::chrono::milliseconds limit) {
  pollfd item{fd, POLLIN, 0};
  return ::poll(&item, 1, static_cast<int>(limit.count())) > 0;
}

class SocketConnection final : public ReplayServer::Connection {
 public:
  SocketConnection(int fd, SSL_CTX* context, const std::atomic<bool>& stopping) : fd_(fd), stopping_(stopping) {
    if (context == nullptr) return;
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd);
    if (SSL_accept(ssl_) != 1) open_ = false;
  }
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;
  ~SocketConnection() override { SSL_free(ssl_); }

  void send(std::string_view bytes) override {
    while (open_ && !bytes.empty()) {
      const auto sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(),
                                                    static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 16)))
                                        : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        open_ = false;
      } else {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
  }
  void close() override {
    if (ssl_ != nullptr && open_) SSL_shutdown(ssl_);
    open_ = false;
    ::shutdown(fd_, SHUT_RDWR);
  }
  bool waitForEnd(std::chrono::milliseconds limit) override {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (open_ && !stopping_ && std::chrono::steady_clock::now() < until) {
      if (readable(fd_, kTick) && !more()) return true;
    }
    return !open_ && !stopping_;
  }

  // The next request; false: the client or the server is through.
  bool next(ReplayServer::Request& out) {
    out = {};
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!more()) return false;
    }
    const std::size_t end = buffer_.find("\r\n\r\n");
    parseHead(buffer_.substr(0, end), out);
    const auto length = out.headers.find("content-length");
    const std::size_t size = length == out.headers.end() ? 0 : std::stoul(length->second);
    while (buffer_.size() < end + 4 + size) {
      if (!more()) return false;
    }
    out.body = buffer_.substr(end + 4, size);
    buffer_.erase(0, end + 4 + size);
    return true;
  }
  [[nodiscard]] bool open() const { return open_; }

 private:
  bool more() {
    char bytes[16384];
    while (open_ && !stopping_ && (ssl_ == nullptr || SSL_pending(ssl_) == 0) && !readable(fd_, kTick)) {
    }
    if (!open_ || stopping_) return false;
    const auto length = ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof(bytes)) : ::recv(fd_, bytes, sizeof(bytes), 0);
    if (length <= 0) {
      open_ = false;
      return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(length));
    return true;
  }
  static void parseHead(const std::string& head, ReplayServer::Request& out) {
    const std::size_t blank = head.find(' ');
    const std::size_t second = head.find(' ', blank + 1);
    out.method = head.substr(0, blank);
    out.target = head.substr(blank + 1, second - blank - 1);
    for (std::size_t at = head.find("\r\n"); at != std::string::npos;) {
      const std::size_t end = head.find("\r\n", at + 2);
      const std::string line = head.substr(at + 2, end == std::string::npos ? end : end - at - 2);
      const std::size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      if (colon != std::string::npos) out.headers[name] = line.substr(line.find_first_not_of(' ', colon + 1));
      at = end;
    }
  }

  int fd_;
  SSL* ssl_ = nullptr;
  const std::atomic<bool>& stopping_;
  std::string buffer_;
  bool open_ = true;
};

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

struct ReplayServer::State {
  Handler handler;
  TlsContext tls;
  Fd listener;
  std::uint16_t port = 0;
  std::atomic<bool> stopping{false};
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::vector<Request> requests;
  std::set<int> open;
  std::vector<std::jthread> threads;
  std::jthread acceptor;

  void listen() {
    listener = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 64) != 0 ||
        ::getsockname(listener.get(), any, &size) != 0)
      throw std::runtime_error("the test's server cannot listen");
    port = ntohs(address.sin_port);
  }

  void accept() {
    while (!stopping) {
      if (!readable(listener.get(), kTick)) continue;
      const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const std::lock_guard lock(mutex);
      open.insert(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    {
      SocketConnection connection(fd, tls.get(), stopping);
      for (Request request; connection.open() && connection.next(request);) {
        {
          const std::lock_guard lock(mutex);
          requests.push_back(request);
          changed.notify_all();
        }
        handler(request, connection);
      }
    }
    const std::lock_guard lock(mutex);
    open.erase(fd);
    ::close(fd);
  }

  void breakAll() {
    const std::lock_guard lock(mutex);
    for (const int fd : open) ::shutdown(fd, SHUT_RDWR);
  }
};

std::string ReplayServer::Request::query(const std::string& key) const {
  const std::size_t mark = target.find('?');
  std::string_view rest = mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (decoded(pair.substr(0, equals)) == key)
      return equals == std::string_view::npos ? "" : decoded(pair.substr(equals + 1));
  }
  return "";
}

void ReplayServer::Connection::answer(int status, std::string_view body, std::string_view contentType,
                                      std::string_view moreHeaders) {
  send(fmt::format("HTTP/1.1 {} Answer\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}", status, contentType,
                   body.size(), moreHeaders, body));
}

void ReplayServer::Connection::beginChunks(int status, std::string_view contentType) {
  send(
      fmt::format("HTTP/1.1 {} Answer\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n", status, contentType));
}

void ReplayServer::Connection::chunk(std::string_view bytes) {
  send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

ReplayServer::ReplayServer(Handler handler, const std::optional<TlsIdentity>& tls, const std::string& clientCa)
    : state_(std::make_unique<State>()) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  state_->handler = std::move(handler);
  if (tls) state_->tls = contextFor(*tls, clientCa);
  state_->listen();
  state_->acceptor = std::jthread([this] { state_->accept(); });
}

ReplayServer::~ReplayServer() {
  state_->stopping = true;
  state_->acceptor.join();
  state_->breakAll();
  state_->threads.clear();  // joins
}

std::uint16_t ReplayServer::port() const {
  return state_->port;
}

std::string ReplayServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", state_->tls ? "https" : "http", port());
}

std::vector<ReplayServer::Request> ReplayServer::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

bool ReplayServer::waitFor(const std::function<bool(const std::vector<Request>&)>& holds) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, kPatience, [&] { return holds(state_->requests); });
}

void ReplayServer::breakConnections() {
  state_->breakAll();
}

}  // namespace memqos::testing
