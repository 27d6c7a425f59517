#include "http/address.h"

namespace memqos::http {
namespace {

TEST(Address, TakesHostAndPort) {
  const std::map<std::string, Address> cases = {
      {"127.0.0.1:9464", {"127.0.0.1", 9464}},
      {"0.0.0.0:0", {"0.0.0.0", 0}},
      {"[::]:9464", {"::", 9464}},
      {"[::1]:0", {"::1", 0}},
      {":9464", {"", 9464}},
      {"[fe80::1]:65535", {"fe80::1", 65535}},
  };
  for (const auto& [text, expected] : cases) {
    const auto address = parseAddress(text);
    ASSERT_TRUE(address) << address.error().text();
    EXPECT_EQ(*address, expected) << text;
  }
}

TEST(Address, RefusesTheRestAndSaysWhy) {
  const std::vector<std::string> cases = {"",
                                          "9464",
                                          "127.0.0.1",
                                          "127.0.0.1:",
                                          "127.0.0.1:65536",
                                          "127.0.0.1:-1",
                                          "127.0.0.1: 80",
                                          "127.0.0.1:80 ",
                                          "127.0.0.1:0x50",
                                          "localhost:80",
                                          "::1:80",
                                          "[::1]",
                                          "[::1]x:80",
                                          "[]:80",
                                          "[127.0.0.1]:80",
                                          "1.2.3:80",
                                          " 1.2.3.4:80",
                                          std::string("1.2.3.4\0:80", 11)};
  for (const auto& text : cases) {
    const auto address = parseAddress(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Code::invalid);
    EXPECT_THAT(address.error().text(), testing::HasSubstr("is not an address to listen on: ")) << text;
  }
}

}  // namespace
}  // namespace memqos::http
