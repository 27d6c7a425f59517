#include "http/server.h"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

#include "base/log.h"
#include "http/client.h"
#include "http/socket.h"
#include "http/testing_socket.h"

namespace memqos::http {
namespace {

using namespace std::chrono_literals;

Routes routes() {
  Routes all;
  all.add("GET", "/hello", [](const Request&) { return Response{200, kText, "hello\n"}; });
  all.add("GET", "/query", [](const Request& request) {
    std::string body = request.method;
    for (const auto& [key, value] : request.query) body.append(" ").append(key).append("=").append(value);
    return Response{200, kJson, body};
  });
  all.add("POST", "/size", [](const Request& request) {
    return Response{200, kText, std::to_string(request.body.size())};
  });
  all.add("GET", "/throws", [](const Request&) -> Response { throw std::runtime_error("no"); });
  all.add("GET", "/busy", [](const Request&) { return Response{503, kText, "busy\n"}; });
  all.add("GET", "/large", [](const Request&) { return Response{200, kText, std::string(3UL << 20U, 'x')}; });
  return all;
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    auto tcp = Server::onTcp("127.0.0.1:0", routes());
    auto local = Server::onUnix(path_, routes());
    EXPECT_TRUE(tcp) << tcp.error().text();
    EXPECT_TRUE(local) << local.error().text();
    tcp_ = std::move(*tcp);
    unix_ = std::move(*local);
  }
  [[nodiscard]] Response ask(std::string_view method, std::string_view target, std::string_view body = {}) const {
    auto response = request(path_, method, target, body, 1min);
    EXPECT_TRUE(response) << response.error().text();
    return response ? *response : Response{0, "", ""};
  }
  // What a raw client gets for `text` until the server closes.
  [[nodiscard]] std::string raw(std::string_view text) const {
    const Fd fd = connectTcp(tcp_->port());
    sendText(fd, text);
    return readAll(fd);
  }

  TempFolder folder_;
  std::string path_ = folder_ / "run/agent.sock";
  std::unique_ptr<Server> tcp_, unix_;
};

TEST_F(ServerTest, AnswersOnTcpAndOnTheSocket) {
  EXPECT_NE(tcp_->port(), 0);
  EXPECT_EQ(unix_->port(), 0);
  const std::string answer = raw("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nhello\n"));
  const Response response = ask("GET", "/hello");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.contentType, kText);
  EXPECT_EQ(response.body, "hello\n");
  EXPECT_EQ(ask("GET", "/busy").status, 503);
  EXPECT_EQ(ask("GET", "/large").body.size(), 3UL << 20U);
}

TEST_F(ServerTest, DecodesTheQuery) {
  const Response response = ask("GET", "/query?pod=a%2Fb&x=1&empty=&bare&x=2");
  EXPECT_EQ(response.body, "GET bare= empty= pod=a/b x=2");
  EXPECT_EQ(response.contentType, kJson);
}

TEST_F(ServerTest, KnowsOnlyExactPathsAndTheirMethods) {
  EXPECT_EQ(ask("GET", "/hellofoo").status, 404);
  EXPECT_EQ(ask("GET", "/hello/").status, 404);
  EXPECT_EQ(ask("GET", "/").status, 404);
  EXPECT_EQ(ask("DELETE", "/hello").status, 405);
  EXPECT_EQ(ask("GET", "/size").status, 405);
  EXPECT_EQ(ask("GET", "/nowhere").body, "no such page\n");
  EXPECT_THAT(raw("PUT /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              testing::AllOf(testing::StartsWith("HTTP/1.1 405 "), testing::HasSubstr("Allow: GET, HEAD\r\n")));
}

TEST_F(ServerTest, HeadHasTheHeadersOfGet) {
  const std::string answer = raw("HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, testing::HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
  EXPECT_EQ(ask("HEAD", "/hello").status, 200);
}

TEST_F(ServerTest, TakesABodyUpToOneMebibyte) {
  EXPECT_EQ(ask("POST", "/size").body, "0");
  EXPECT_EQ(ask("POST", "/size", std::string(1UL << 20U, 'x')).body, "1048576");
  // Refused by its length alone, before any of it is sent.
  const std::string head = "POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  EXPECT_THAT(raw(head + "Content-Length: 1048577\r\n\r\n"), testing::StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(raw(head + "Content-Length: 99999999999999999999999\r\n\r\n"),
              testing::Not(testing::StartsWith("HTTP/1.1 200")));
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(raw(chunked + "3\r\nabc\r\n0\r\n\r\n"), testing::EndsWith("\r\n3") /* bytes */);
  const std::string mebibyte = "100000\r\n" + std::string(1UL << 20U, 'x') + "\r\n";
  EXPECT_EQ(raw(chunked + mebibyte + mebibyte + "0\r\n\r\n"), "") << "cut off without an answer";
  EXPECT_EQ(ask("GET", "/hello").status, 200);
}

TEST_F(ServerTest, AHandlersExceptionIsA500) {
  std::vector<std::string> logged;
  log::capture([&](std::string_view line) { logged.emplace_back(line); });
  const Response response = ask("GET", "/throws");
  log::capture(nullptr);
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "internal error\n");
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_THAT(logged[0], testing::HasSubstr("/throws"));
}

TEST_F(ServerTest, HalfOpenClientsDoNotBlockTheOthers) {
  std::vector<Fd> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(connectTcp(tcp_->port()));
    sendText(clients.back(), i % 2 == 0 ? "" : "GET /hello HTTP/1.1\r\nHo");
  }
  EXPECT_THAT(raw("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), testing::EndsWith("hello\n"));
}

TEST_F(ServerTest, MoreThanItsMemoryOfHeadersIsRefused) {
  const std::string many = "GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(64UL * 1024, 'a') + "\r\n\r\n";
  EXPECT_THAT(raw(many), testing::Not(testing::HasSubstr("hello")));
  EXPECT_THAT(raw("GET /" + std::string(64UL * 1024, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              testing::Not(testing::StartsWith("HTTP/1.1 2")));
  EXPECT_THAT(raw("not http at all\r\n\r\n"), testing::Not(testing::StartsWith("HTTP/1.1 2")));
  EXPECT_EQ(ask("GET", "/hello").status, 200);
}

TEST_F(ServerTest, ATakenPortIsASentence) {
  const auto second = Server::onTcp("127.0.0.1:" + std::to_string(tcp_->port()), routes());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::again);
  EXPECT_THAT(second.error().text(), testing::HasSubstr("--listen"));
  const auto nowhere = Server::onTcp("192.0.2.1:0", routes());
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().text(), testing::HasSubstr("this node has no such address"));
  EXPECT_FALSE(Server::onTcp("nonsense", routes()));
}

TEST_F(ServerTest, AllAddressesIncludeIPv4) {
  const auto all = Server::onTcp(":0", routes());
  ASSERT_TRUE(all) << all.error().text();
  const Fd fd = connectTcp((*all)->port());
  ASSERT_TRUE(fd);
  sendText(fd, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(readAll(fd), testing::EndsWith("hello\n"));
}

TEST_F(ServerTest, TheSocketIsTheOwnersAndGoesWithTheServer) {
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((folder_ / "run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  unix_.reset();
  EXPECT_NE(::stat(path_.c_str(), &status), 0);
}

TEST_F(ServerTest, OnlyADeadSocketIsReplaced) {
  const auto second = Server::onUnix(path_, routes());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::again);
  EXPECT_EQ(ask("GET", "/hello").status, 200) << "the first is untouched";

  const std::string dead = folder_ / "dead.sock";
  ASSERT_TRUE(listenUnix(dead));  // closed at once, the file stays
  const auto replaced = Server::onUnix(dead, routes());
  ASSERT_TRUE(replaced) << replaced.error().text();
  EXPECT_EQ(request(dead, "GET", "/hello", "", 1min)->status, 200);

  const std::string file = folder_ / "file";
  std::ofstream(file) << "precious";
  const auto inTheWay = Server::onUnix(file, routes());
  ASSERT_FALSE(inTheWay);
  EXPECT_EQ(inTheWay.error().code, Code::invalid);
  EXPECT_TRUE(std::filesystem::is_regular_file(file));

  const auto tooLong = Server::onUnix(folder_ / std::string(200, 'x').c_str(), routes());
  ASSERT_FALSE(tooLong);
  EXPECT_THAT(tooLong.error().text(), testing::HasSubstr("--run-dir"));
}

TEST_F(ServerTest, ItsEndLeavesTheSocketOfASuccessor) {
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const auto successor = Server::onUnix(path_, routes());
  ASSERT_TRUE(successor) << successor.error().text();
  unix_.reset();
  EXPECT_EQ(ask("GET", "/hello").status, 200);
}

}  // namespace
}  // namespace memqos::http
