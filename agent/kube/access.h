// Where the API server is, whom to trust, and who we are: from the pod's environment or from a kubeconfig.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "document/node.h"

namespace memqos::kube {

// Text that is given, or the file that has it at the moment: what rotates is read again at each use.
struct Material {
  std::string data{};
  std::string file{};
  [[nodiscard]] bool empty() const { return data.empty() && file.empty(); }
  bool operator==(const Material&) const = default;
};

struct Access {
  std::string server;  // "https://10.96.0.1:443", perhaps with a path
  Material ca;         // PEM; nobody else is trusted
  Material token;      // empty: none
  Material clientCertificate;
  Material clientKey;
  bool operator==(const Access&) const = default;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> processEnvironment(const std::string& name);

inline constexpr const char* kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the service account's folder. Errors: invalid (not in a
// cluster; the sentence says what to do).
Result<Access> inClusterAccess(const Environment& environment, const std::string& folder = kServiceAccountFolder);

// The current context of a kubeconfig; relative file names are below `folder`. What is not supported is refused, never
// left out: exec and auth provider plugins, user and password, impersonation, proxies, servers that are not verified.
// Errors: invalid.
Result<Access> decodeKubeconfig(const document::Node& root, const std::string& folder);
// The same from a file. Errors also: gone, denied, io.
Result<Access> readKubeconfig(const std::string& path);

// RFC 4648 with padding; white space is skipped. nullopt: not that.
std::optional<std::string> decodeBase64(std::string_view text);

}  // namespace memqos::kube
