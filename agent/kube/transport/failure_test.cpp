#include "kube/transport/failure.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <cerrno>

namespace memqos::kube {
namespace {

using ::testing::HasSubstr;

struct Case {
  int value;
  std::string category;
  std::string text;
  Code code;
  std::string says;
};

TEST(Failure, SaysWhatItMeans) {
  const int verify = static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_CERTIFICATE_VERIFY_FAILED));
  const int version = static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNSUPPORTED_PROTOCOL));
  const std::vector<Case> cases = {
      {verify, "generic", "Error in SSL handshake", Code::denied, "not of the cluster's CA"},
      {version, "generic", "Error in SSL handshake", Code::denied, "unsupported protocol"},
      {0, "generic", "Error in SSL handshake", Code::denied, "handshake failed"},
      {ETIMEDOUT, "generic", "Retrieving message chunk header", Code::timeout, "does not answer"},
      {ECANCELED, "generic", "Operation canceled", Code::again, "stopped"},
      {ECONNREFUSED, "system", "Failed to connect to any resolved endpoint", Code::io, "Connection refused"},
      {EACCES, "system", "x", Code::denied, "Permission denied"},
      {1, "asio.netdb", "Error resolving address", Code::io, "cannot be resolved"},
      {EBADF, "generic", "Failed to read HTTP status line", Code::io, "closed the connection"},
      {0, "generic", "invalid chunk in response", Code::io, "the connection broke"},
      {0, "", "something else", Code::io, "something else"},
  };
  for (const Case& item : cases) {
    const Error error = decodeFailure(item.value, item.category, item.text);
    EXPECT_EQ(error.code, item.code) << item.text;
    EXPECT_THAT(error.text(), HasSubstr(item.says));
  }
}

}  // namespace
}  // namespace memqos::kube
