#include "http/client.h"

#include <cerrno>
#include <thread>

#include "http/socket.h"
#include "http/testing_socket.h"

namespace memqos::http {
namespace {

using namespace std::chrono_literals;

TEST(ParseResponse, ReadsByLengthChunkedOrToTheEnd) {
  const std::map<std::string, std::string> bodies = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"},
      {"HTTP/1.1 200 OK\r\ncontent-length:3\r\n\r\nabcdef", "abc"},
      {"HTTP/1.0 200 OK\r\n\r\nabc", "abc"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\nA\r\n0123456789\r\n0\r\n\r\n",
       "abcd0123456789"},
  };
  for (const auto& [text, body] : bodies) {
    const auto response = parseResponse(text);
    ASSERT_TRUE(response) << response.error().text() << text;
    EXPECT_EQ(response->body, body) << text;
    EXPECT_EQ(response->status, 200);
  }
}

TEST(ParseResponse, KeepsStatusAndContentType) {
  const auto response = parseResponse("HTTP/1.1 503 Busy\r\nContent-Type:  text/plain \r\nContent-Length: 1\r\n\r\nx");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->contentType, "text/plain");
}

TEST(ParseResponse, OfAHeadHasNoBody) {
  const auto response = parseResponse("HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n", true);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "");
}

TEST(ParseResponse, RefusesWhatIsNotHttpOrIncomplete) {
  const std::vector<std::string> cases = {
      "",
      "hello",
      "HTTP/1.1 200 OK",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 999 OK\r\n\r\n",
      "SSH-2.0-OpenSSH_9.2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
  };
  for (const auto& text : cases) {
    const auto response = parseResponse(text);
    ASSERT_FALSE(response) << text;
    EXPECT_EQ(response.error().code, Code::invalid) << text;
  }
}

TEST(Request, WithoutAnAgentSaysSo) {
  const TempFolder folder;
  const std::string path = folder / "agent.sock";
  const auto missing = request(path, "GET", "/top", "", 1min);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::gone);
  EXPECT_THAT(missing.error().text(), testing::HasSubstr("no agent is running (cannot connect to " + path + ")"));
  ASSERT_TRUE(listenUnix(path));  // and closed: a socket that nobody answers on
  const auto refused = request(path, "GET", "/top", "", 1min);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::gone);
  EXPECT_EQ(refused.error().sysErrno, ECONNREFUSED);
  EXPECT_THAT(refused.error().text(), testing::HasSubstr("no agent is running"));
}

TEST(Request, AnAgentThatDoesNotAnswerIsATimeout) {
  const TempFolder folder;
  const std::string path = folder / "agent.sock";
  const auto listening = listenUnix(path);
  ASSERT_TRUE(listening);
  const auto response = request(path, "GET", "/top", "", 10ms);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::timeout);
}

TEST(Request, NothingCanBeSmuggledIntoTheTarget) {
  for (const auto* target : {"", "/a b", "/a\r\nX: y", "/a\n"}) {
    const auto response = request("/nowhere", "GET", target, "", 1s);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::invalid);
  }
}

TEST(Request, AnAnswerWithoutEndIsCutOff) {
  const TempFolder folder;
  const std::string path = folder / "agent.sock";
  const auto listening = listenUnix(path);
  ASSERT_TRUE(listening);
  std::thread liar([&] {
    Fd client;
    while (!client) client = Fd(::accept(listening->get(), nullptr, nullptr));
    const std::string much(1024UL * 1024, 'x');
    while (::send(client.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  const auto response = request(path, "GET", "/top", "", 1min);
  liar.join();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::invalid);
  EXPECT_THAT(response.error().text(), testing::HasSubstr("larger than 64 MiB"));
}

}  // namespace
}  // namespace memqos::http
