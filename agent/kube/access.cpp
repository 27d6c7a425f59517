#include "kube/access.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/file.h"

namespace memqos::kube {
namespace {

using document::Kind;
using document::Node;

constexpr std::size_t kKubeconfigCap = std::size_t{4} << 20;

tl::unexpected<Error> refuse(std::string sentence) {
  return fail(Code::invalid, std::move(sentence));
}

// "[::1]" or "::1": the HTTP library cannot resolve it.
bool isIpv6(std::string_view host) {
  return host.find(':') != std::string_view::npos;
}

struct Server {
  std::string scheme;
  std::string host;
};

Result<Server> parseServer(const std::string& url) {
  const std::size_t mark = url.find("://");
  if (mark == std::string::npos) return refuse(fmt::format("the server '{}' is no URL", url));
  Server out{url.substr(0, mark), url.substr(mark + 3)};
  out.host = out.host.substr(0, out.host.find('/'));
  if (out.scheme != "https" && out.scheme != "http")
    return refuse(fmt::format("the server's scheme is '{}', not https", out.scheme));
  if (out.host.find('@') != std::string::npos) return refuse("the server's URL must not have a user");
  if (out.host.starts_with('[')) return refuse("IPv6 addresses are not supported: write the server's name");
  if (out.host.empty()) return refuse("the server's URL has no host");
  return out;
}

// A part of a kubeconfig: clusters, contexts and users are lists of {name, PART}.
Result<const Node*> named(const Node& root, const std::string& list, const std::string& part, const std::string& name) {
  const Node* items = root.find(list);
  if (items != nullptr && items->kind == Kind::list) {
    for (const Node& item : items->items) {
      const Node* itsName = item.find("name");
      if (itsName == nullptr || itsName->jsonText() != name) continue;
      const Node* found = item.find(part);
      if (found == nullptr || found->kind != Kind::map)
        return refuse(fmt::format("'{}' of '{}' has no {}", name, list, part));
      return found;
    }
  }
  return refuse(fmt::format("there is no '{}' among the {}", name, list));
}

std::string text(const Node& map, const std::string& key) {
  const Node* node = map.find(key);
  return node == nullptr || node->kind != Kind::string ? std::string() : node->scalar;
}

bool given(const Node& map, const std::string& key) {
  const Node* node = map.find(key);
  if (node == nullptr || node->isNull()) return false;
  return !(node->kind == Kind::string && node->scalar.empty()) &&
         !(node->kind == Kind::boolean && node->jsonText() == "false");
}

Status refuseAny(const Node& map, std::initializer_list<std::pair<const char*, const char*>> keys) {
  for (const auto& [key, advice] : keys) {
    if (given(map, key)) return refuse(fmt::format("'{}' is not supported: {}", key, advice));
  }
  return {};
}

// KEY-data (base64) beats the file named by KEY, as in client-go.
Result<Material> material(const Node& map, const std::string& key, const std::string& folder) {
  Material out;
  if (const std::string data = text(map, key + "-data"); !data.empty()) {
    auto decoded = decodeBase64(data);
    if (!decoded) return refuse(fmt::format("'{}-data' is not base64", key));
    out.data = std::move(*decoded);
    return out;
  }
  out.file = text(map, key);
  if (!out.file.empty() && out.file[0] != '/') out.file = folder + "/" + out.file;
  return out;
}

Status readCluster(const Node& cluster, const std::string& folder, Access& out) {
  auto refused = refuseAny(cluster, {{"insecure-skip-tls-verify", "give certificate-authority"},
                                     {"proxy-url", "the server must be reachable directly"},
                                     {"tls-server-name", "write the name that the certificate has as the server"}});
  if (!refused) return refused;
  out.server = text(cluster, "server");
  auto ca = material(cluster, "certificate-authority", folder);
  if (!ca) return tl::unexpected(std::move(ca.error()));
  out.ca = std::move(*ca);
  return {};
}

Status readUser(const Node& user, const std::string& folder, Access& out) {
  const char* const kToken = "make a token for a service account (kubectl create token)";
  auto refused = refuseAny(user, {{"exec", kToken},
                                  {"auth-provider", kToken},
                                  {"username", kToken},
                                  {"as", "use the account itself"},
                                  {"as-uid", "use the account itself"},
                                  {"as-groups", "use the account itself"}});
  if (!refused) return refused;
  // tokenFile beats token, as in client-go.
  out.token.file = text(user, "tokenFile");
  if (!out.token.file.empty() && out.token.file[0] != '/') out.token.file = folder + "/" + out.token.file;
  if (out.token.file.empty()) out.token.data = text(user, "token");
  auto certificate = material(user, "client-certificate", folder);
  auto key = material(user, "client-key", folder);
  if (!certificate) return tl::unexpected(std::move(certificate.error()));
  if (!key) return tl::unexpected(std::move(key.error()));
  if (certificate->empty() != key->empty()) return refuse("of client-certificate and client-key only one is given");
  out.clientCertificate = std::move(*certificate);
  out.clientKey = std::move(*key);
  return {};
}

}  // namespace

std::optional<std::string> processEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): while single-threaded
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

Result<Access> inClusterAccess(const Environment& environment, const std::string& folder) {
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  const auto port = environment("KUBERNETES_SERVICE_PORT");
  if (!host || !port)
    return refuse(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod; give --kubeconfig FILE, "
        "or --pods DIR to run without a cluster");
  Access out;
  out.server = fmt::format("https://{}:{}", isIpv6(*host) ? "kubernetes.default.svc" : *host, *port);
  out.ca.file = folder + "/ca.crt";
  out.token.file = folder + "/token";
  return out;
}

Result<Access> decodeKubeconfig(const Node& root, const std::string& folder) {
  const std::string current = text(root, "current-context");
  if (current.empty()) return refuse("current-context is missing");
  const auto context = named(root, "contexts", "context", current);
  if (!context) return tl::unexpected(context.error());
  const auto cluster = named(root, "clusters", "cluster", text(**context, "cluster"));
  if (!cluster) return tl::unexpected(cluster.error());
  Access out;
  if (auto status = readCluster(**cluster, folder, out); !status) return tl::unexpected(status.error());
  if (const std::string name = text(**context, "user"); !name.empty()) {
    const auto user = named(root, "users", "user", name);
    if (!user) return tl::unexpected(user.error());
    if (auto status = readUser(**user, folder, out); !status) return tl::unexpected(status.error());
  }
  const auto server = parseServer(out.server);
  if (!server) return tl::unexpected(server.error());
  if (server->scheme == "http" && !(out.token.empty() && out.clientCertificate.empty()))
    return refuse("credentials are not sent over http: write https");
  if (server->scheme == "https" && out.ca.empty())
    return refuse("certificate-authority is missing: only the cluster's own CA is trusted");
  return out;
}

Result<Access> readKubeconfig(const std::string& path) {
  auto content = readFile(path, kKubeconfigCap);
  if (!content) return tl::unexpected(std::move(content.error()));
  const auto documents = document::parseYaml(*content);
  if (!documents) {
    Error error = documents.error().error;
    error.path = path;
    return tl::unexpected(std::move(error));
  }
  if (documents->empty()) return fail(Code::invalid, "a kubeconfig without content", path);
  const std::size_t slash = path.rfind('/');
  auto access = decodeKubeconfig(documents->front(), slash == std::string::npos ? "." : path.substr(0, slash));
  if (!access) access.error().path = path;
  return access;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  static const auto kValues = [] {
    std::array<int, 256> values{};
    values.fill(-1);
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < kDigits.size(); ++i)
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
    return values;
  }();
  std::string out;
  unsigned bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    const int value = kValues[static_cast<unsigned char>(c)];
    if (c == '=') {
      ++padding;
    } else if (value < 0 || padding > 0) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<unsigned>(value < 0 ? 0 : value);
    if (++digits % 4 != 0) continue;
    out += static_cast<char>(bits >> 16 & 0xFF);
    out += static_cast<char>(bits >> 8 & 0xFF);
    out += static_cast<char>(bits & 0xFF);
  }
  if (digits % 4 != 0 || padding > 2 || padding > out.size()) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

}  // namespace memqos::kube
