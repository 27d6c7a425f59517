#include "kube/access.h"

#include <gmock/gmock.h>

#include <map>

namespace memqos::kube {
namespace {

using ::testing::HasSubstr;

Environment with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(InCluster, AServiceHostIsReachedByItsAddress) {
  const auto access =
      inClusterAccess(with({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}}), "/sa");
  ASSERT_TRUE(access);
  EXPECT_EQ(access->server, "https://10.96.0.1:443");
  EXPECT_EQ(access->ca.file, "/sa/ca.crt");
  EXPECT_EQ(access->token.file, "/sa/token");
}

TEST(InCluster, AnIpv6ServiceHostIsReachedByName) {
  const auto access =
      inClusterAccess(with({{"KUBERNETES_SERVICE_HOST", "fd00:10:96::1"}, {"KUBERNETES_SERVICE_PORT", "443"}}));
  ASSERT_TRUE(access);
  EXPECT_EQ(access->server, "https://kubernetes.default.svc:443");
}

TEST(InCluster, OutsideAPodTheSentenceSaysWhatToGive) {
  const auto access = inClusterAccess(with({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}));
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().text(), AllOf(HasSubstr("--kubeconfig"), HasSubstr("--pods")));
}

Result<Access> decode(const std::string& yaml) {
  const auto documents = document::parseYaml(yaml);
  return decodeKubeconfig(documents.value().at(0), "/home/me");
}

std::string config(const std::string& cluster, const std::string& user) {
  return "current-context: c\n"
         "contexts: [{name: other, context: {cluster: x, user: y}}, {name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

constexpr const char* kServer = "server: 'https://10.0.0.1:6443', certificate-authority-data: Q0E=";

TEST(Kubeconfig, TakesTheCurrentContext) {
  const auto access = decode(config(kServer, "token: secret"));
  ASSERT_TRUE(access) << access.error().text();
  EXPECT_EQ(*access, (Access{"https://10.0.0.1:6443", {.data = "CA"}, {.data = "secret"}, {}, {}}));
}

TEST(Kubeconfig, FilesAreBesideTheKubeconfigAndFilesOfTokensComeFirst) {
  const auto access = decode(config("server: 'https://api:6443/prefix', certificate-authority: ca.pem",
                                    "token: old, tokenFile: /abs/token, client-certificate: c.pem, client-key: k.pem"));
  ASSERT_TRUE(access) << access.error().text();
  EXPECT_EQ(access->server, "https://api:6443/prefix");
  EXPECT_EQ(access->ca, (Material{"", "/home/me/ca.pem"}));
  EXPECT_EQ(access->token, (Material{"", "/abs/token"}));
  EXPECT_EQ(access->clientCertificate, (Material{"", "/home/me/c.pem"}));
  EXPECT_EQ(access->clientKey, (Material{"", "/home/me/k.pem"}));
}

TEST(Kubeconfig, PlainHttpOnlyWithoutCredentials) {
  EXPECT_TRUE(decode(config("server: 'http://127.0.0.1:8001'", "token: ''")));
  const auto access = decode(config("server: 'http://127.0.0.1:8001'", "token: secret"));
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().text(), HasSubstr("not sent over http"));
}

struct Refused {
  std::string cluster;
  std::string user;
  std::string says;
};

TEST(Kubeconfig, WhatIsNotSupportedIsRefusedWithASentence) {
  const std::vector<Refused> cases = {
      {kServer, "exec: {command: aws}", "'exec' is not supported"},
      {kServer, "auth-provider: {name: gcp}", "'auth-provider' is not supported"},
      {kServer, "username: admin, password: x", "'username' is not supported"},
      {kServer, "token: x, as: somebody", "'as' is not supported"},
      {kServer, "client-certificate-data: Q0E=", "only one is given"},
      {kServer, "client-certificate-data: '%', client-key-data: Q0E=", "not base64"},
      {std::string(kServer) + ", insecure-skip-tls-verify: true", "token: x", "insecure-skip-tls-verify"},
      {std::string(kServer) + ", proxy-url: 'http://p'", "token: x", "proxy-url"},
      {std::string(kServer) + ", tls-server-name: api", "token: x", "tls-server-name"},
      {"server: 'https://[::1]:6443', certificate-authority-data: Q0E=", "token: x", "IPv6"},
      {"server: 'https://10.0.0.1'", "token: x", "certificate-authority is missing"},
      {"server: 'ftp://10.0.0.1', certificate-authority-data: Q0E=", "token: x", "not https"},
      {"server: 'https://me:pw@host', certificate-authority-data: Q0E=", "token: x", "must not have a user"},
      {"server: 10.0.0.1, certificate-authority-data: Q0E=", "token: x", "no URL"},
  };
  for (const Refused& item : cases) {
    const auto access = decode(config(item.cluster, item.user));
    ASSERT_FALSE(access) << item.says;
    EXPECT_EQ(access.error().code, Code::invalid);
    EXPECT_THAT(access.error().text(), HasSubstr(item.says));
  }
}

TEST(Kubeconfig, WhatIsSwitchedOffIsNotRefused) {
  EXPECT_TRUE(decode(config(std::string(kServer) + ", insecure-skip-tls-verify: false", "exec: null, token: x")));
}

TEST(Kubeconfig, MissingPartsAreNamed) {
  EXPECT_THAT(decode("clusters: []\n").error().text(), HasSubstr("current-context"));
  EXPECT_THAT(decode("current-context: c\ncontexts: []\n").error().text(), HasSubstr("no 'c' among the contexts"));
  EXPECT_THAT(decode("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: 5\n").error().text(),
              HasSubstr("no 'k' among the clusters"));
  EXPECT_EQ(readKubeconfig("/nonexistent/config").error().code, Code::gone);
}

TEST(Base64, OnlyWhatItIs) {
  EXPECT_EQ(decodeBase64("aGVs\nbG8="), "hello");
  EXPECT_EQ(decodeBase64("aGVsbG8h"), "hello!");
  EXPECT_EQ(decodeBase64("aA=="), "h");
  EXPECT_EQ(decodeBase64(""), "");
  for (const char* bad : {"aGVsbG8", "a", "====", "aA=b", "a===", "aGV$"})
    EXPECT_EQ(decodeBase64(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace memqos::kube
