#include "kube/transport/cpprest.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "testing/fake_tree.h"
#include "testing/replay_server.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTree;
using testing::file;
using ::testing::HasSubstr;
using testing::ReplayServer;
using testing::TlsIdentity;

// One CA and one server's certificate for all tests: making keys takes time.
const TlsIdentity& ca() {
  static const TlsIdentity kCa = testing::makeCa("cluster");
  return kCa;
}
const TlsIdentity& serverIdentity() {
  static const TlsIdentity kServer = testing::issue(ca(), "kube-apiserver", "IP:127.0.0.1,DNS:kubernetes.default.svc");
  return kServer;
}

std::unique_ptr<Transport> connect(Access access) {
  distrustSystemStore();
  auto transport = makeTransport(std::move(access));
  return transport ? std::move(*transport) : nullptr;
}
std::unique_ptr<Transport> connect(const ReplayServer& server) {
  return connect(Access{server.url(), {.data = ca().certificate}, {}, {}, {}});
}

Result<Response> get(Transport& transport, const std::string& path, Milliseconds deadline = 10s) {
  return call(transport, {.path = path, .deadline = deadline, .idle = deadline}, {});
}

void ok(const ReplayServer::Request&, ReplayServer::Connection& connection) {
  connection.answer(200, "{}");
}

void aLineThenSilence(const ReplayServer::Request&, ReplayServer::Connection& c) {
  c.beginChunks();
  c.chunk("x\n");
  c.waitForEnd(20s);
}

TEST(Cpprest, AnAnswerOverTls) {
  const ReplayServer server(
      [](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.answer(429, "{\"kind\":\"Status\"}", "application/json", "Retry-After: 7\r\n");
      },
      serverIdentity());
  const auto answer = get(*connect(server), "/api/v1/pods");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->head.status, 429);
  EXPECT_EQ(answer->head.contentType, "application/json");
  EXPECT_EQ(answer->head.retryAfter, 7s);
  EXPECT_EQ(answer->body, "{\"kind\":\"Status\"}");
}

TEST(Cpprest, QueriesAreEncoded) {
  const ReplayServer server(ok, serverIdentity());
  const auto transport = connect(server);
  ASSERT_TRUE(call(
      *transport, {.path = "/api/v1/pods", .query = {{"fieldSelector", "spec.nodeName=a&b=c d"}, {"watch", "1"}}}, {}));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].path(), "/api/v1/pods");
  EXPECT_EQ(requests[0].query("fieldSelector"), "spec.nodeName=a&b=c d");
  EXPECT_EQ(requests[0].query("watch"), "1");
  EXPECT_THAT(requests[0].headers.at("user-agent"), HasSubstr("memqos-agent/"));
}

TEST(Cpprest, AServerBelowAPathIsReachedThere) {
  const ReplayServer server(ok, serverIdentity());
  const auto transport = connect(Access{server.url() + "/k8s/clusters/c1", {.data = ca().certificate}, {}, {}, {}});
  ASSERT_TRUE(get(*transport, "/api/v1/pods"));
  EXPECT_EQ(server.requests().at(0).path(), "/k8s/clusters/c1/api/v1/pods");
}

TEST(Cpprest, TheTokenIsReadForEachRequest) {
  const ReplayServer server(ok, serverIdentity());
  FakeTree folder{file("token", "first\n")};
  const auto transport =
      connect(Access{server.url(), {.data = ca().certificate}, {.data = "", .file = folder.path("token")}, {}, {}});
  ASSERT_TRUE(get(*transport, "/a"));
  folder.write("token", "second\n");
  ASSERT_TRUE(get(*transport, "/b"));
  const auto requests = server.requests();
  EXPECT_EQ(requests.at(0).headers.at("authorization"), "Bearer first");
  EXPECT_EQ(requests.at(1).headers.at("authorization"), "Bearer second");
  folder.remove("token");
  const auto none = get(*transport, "/c");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("the token cannot be read"));
}

// The library would follow, and take the token along.
TEST(Cpprest, NoRedirectIsFollowed) {
  const ReplayServer thief(ok, serverIdentity());
  const ReplayServer server(
      [&](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.answer(307, "", "text/html", "Location: " + thief.url() + "/stolen\r\n");
      },
      serverIdentity());
  const auto answer = get(*connect(Access{server.url(), {.data = ca().certificate}, {.data = "secret"}, {}, {}}), "/a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::invalid);
  EXPECT_THAT(answer.error().text(), HasSubstr("redirects"));
  EXPECT_TRUE(thief.requests().empty());
}

TEST(Cpprest, AnotherCaIsNotBelieved) {
  const TlsIdentity other = testing::issue(testing::makeCa("other"), "kube-apiserver", "IP:127.0.0.1");
  const ReplayServer server(ok, other);
  const auto answer = get(*connect(server), "/a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::denied) << answer.error().text();
  EXPECT_TRUE(server.requests().empty());
}

// The library trusts OpenSSL's default store beside what it is given.
TEST(Cpprest, TheDefaultStoreIsNotBelieved) {
  const TlsIdentity other = testing::makeCa("default");
  FakeTree folder{file("bundle.pem", other.certificate)};
  const ReplayServer server(ok, testing::issue(other, "kube-apiserver", "IP:127.0.0.1"));
  const auto client = connect(server);
  ::setenv("SSL_CERT_FILE", folder.path("bundle.pem").c_str(), 1);
  const auto answer = get(*client, "/a");
  distrustSystemStore();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::denied) << answer.error().text();
}

TEST(Cpprest, ACertificateForAnotherNameIsNotBelieved) {
  const ReplayServer server(ok, testing::issue(ca(), "kube-apiserver", "DNS:kubernetes.default.svc,IP:127.0.0.2"));
  const auto answer = get(*connect(server), "/a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::denied) << answer.error().text();
}

TEST(Cpprest, ARotatedCaCountsFromTheNextConnectionOn) {
  const ReplayServer server(ok, serverIdentity());
  FakeTree folder{file("ca.crt", testing::makeCa("old").certificate)};
  const auto transport = connect(Access{server.url(), {.data = "", .file = folder.path("ca.crt")}, {}, {}, {}});
  EXPECT_FALSE(get(*transport, "/a"));
  folder.write("ca.crt", ca().certificate);
  EXPECT_TRUE(get(*transport, "/a"));
}

TEST(Cpprest, AClientCertificateIsShown) {
  const ReplayServer server(ok, serverIdentity(), ca().certificate);
  EXPECT_FALSE(get(*connect(server), "/a"));
  const TlsIdentity client = testing::issue(ca(), "system:node:n1", "");
  const auto answer =
      get(*connect(
              Access{server.url(), {.data = ca().certificate}, {}, {.data = client.certificate}, {.data = client.key}}),
          "/a");
  EXPECT_TRUE(answer) << answer.error().text();
}

TEST(Cpprest, PartsComeAsTheyAreSent) {
  std::promise<void> firstSeen;
  auto seen = firstSeen.get_future();
  const ReplayServer server(
      [&](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.beginChunks();
        c.chunk("{\"a\":");
        seen.wait();  // the client has it while the answer goes on
        c.chunk("1}\n");
        c.endChunks();
      },
      serverIdentity());
  std::vector<std::string> parts;
  const auto head = connect(server)->stream({.path = "/watch"},
                                            [&](const Head& h, std::string_view part) {
                                              EXPECT_EQ(h.status, 200);
                                              if (part.empty()) return true;  // the head
                                              parts.emplace_back(part);
                                              if (parts.size() == 1) firstSeen.set_value();
                                              return true;
                                            },
                                            {});
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_THAT(parts, ::testing::ElementsAre("{\"a\":", "1}\n"));
}

TEST(Cpprest, SilenceInTheMiddleIsATimeout) {
  const ReplayServer server(aLineThenSilence, serverIdentity());
  int parts = 0;
  const auto head = connect(server)->stream({.path = "/watch", .deadline = 60s, .idle = 200ms},
                                            [&](const Head&, std::string_view part) {
                                              parts += part.empty() ? 0 : 1;
                                              return true;
                                            },
                                            {});
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().code, Code::timeout);
  EXPECT_THAT(head.error().text(), HasSubstr("fell silent"));
  EXPECT_EQ(parts, 1);
}

TEST(Cpprest, AServerThatNeverAnswersIsATimeout) {
  const ReplayServer server([](const ReplayServer::Request&, ReplayServer::Connection& c) { c.waitForEnd(20s); },
                            serverIdentity());
  const auto answer = get(*connect(server), "/a", 200ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::timeout);
}

TEST(Cpprest, ABrokenConnectionIsAnErrorAndNoEnd) {
  const ReplayServer server(
      [](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.beginChunks();
        c.chunk("x\n");
        c.close();
      },
      serverIdentity());
  const auto head = connect(server)->stream({.path = "/watch"}, [](const Head&, std::string_view) { return true; }, {});
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().code, Code::io) << head.error().text();
}

TEST(Cpprest, NobodyListens) {
  std::string url;
  {
    const ReplayServer server(ok, serverIdentity());
    url = server.url();
  }
  const auto answer = get(*connect(Access{url, {.data = ca().certificate}, {}, {}, {}}), "/a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::io) << answer.error().text();
}

TEST(Cpprest, StoppingEndsAWatchAtOnce) {
  const ReplayServer server(aLineThenSilence, serverIdentity());
  const auto transport = connect(server);
  std::stop_source stop;
  std::promise<void> begun;
  auto result = std::async(std::launch::async, [&] {
    return transport->stream(
        {.path = "/watch", .deadline = 60s, .idle = 60s},
        [&](const Head&, std::string_view part) {
          if (!part.empty()) begun.set_value();
          return true;
        },
        stop.get_token());
  });
  begun.get_future().wait();
  stop.request_stop();
  ASSERT_EQ(result.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(result.get().error().code, Code::again);
}

TEST(Cpprest, EnoughIsEnough) {
  const ReplayServer server(
      [](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.beginChunks();
        for (int i = 0; i < 1000; ++i) c.chunk(std::string(10'000, 'x'));
        c.waitForEnd(20s);
      },
      serverIdentity());
  const auto transport = connect(server);
  const auto head = transport->stream({.path = "/watch"}, [](const Head&, std::string_view) { return false; }, {});
  EXPECT_TRUE(head) << head.error().text();
  const auto answer = call(*transport, {.path = "/list"}, {}, 1000);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text(), HasSubstr("more than 1000 bytes"));
}

// The library would read on and keep it all.
TEST(Cpprest, ASlowReaderStopsTheSender) {
  constexpr std::size_t kChunk = 1 << 20;
  constexpr int kChunks = 64;
  std::atomic<int> sent{0};
  const ReplayServer server(
      [&](const ReplayServer::Request&, ReplayServer::Connection& c) {
        c.beginChunks();
        const std::string chunk(kChunk, 'x');
        for (int i = 0; i < kChunks; ++i) {
          c.chunk(chunk);
          ++sent;
        }
        c.endChunks();
      },
      serverIdentity());
  std::size_t read = 0;
  int mostAhead = 0;
  const auto head = connect(server)->stream({.path = "/watch", .deadline = 60s, .idle = 60s},
                                            [&](const Head&, std::string_view part) {
                                              if (read == 0 && !part.empty()) {
                                                // The sender's and the receiver's sockets are full after a while, and
                                                // then it waits for us.
                                                for (int last = -1; last != sent;) {
                                                  last = sent;
                                                  std::this_thread::sleep_for(200ms);
                                                }
                                                mostAhead = sent;
                                              }
                                              read += part.size();
                                              return true;
                                            },
                                            {});
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_EQ(read, kChunk * kChunks);
  EXPECT_LT(mostAhead, kChunks / 2);
}

// The library sends again what it sent on a connection that turned out to be closed.
TEST(Cpprest, AWriteIsSentOnce) {
  std::atomic<int> writes{0};
  const ReplayServer server(
      [&](const ReplayServer::Request& request, ReplayServer::Connection& c) {
        if (request.method == "GET") return c.answer(200, "{}");
        ++writes;
        c.close();
      },
      serverIdentity());
  const auto transport = connect(server);
  ASSERT_TRUE(get(*transport, "/a"));  // leaves a connection in the pool
  EXPECT_FALSE(call(*transport, {.method = "POST", .path = "/events", .body = "{}"}, {}));
  EXPECT_EQ(writes, 1);
}

TEST(Cpprest, ABodyIsSentAsJson) {
  const ReplayServer server(ok, serverIdentity());
  ASSERT_TRUE(call(*connect(server), {.method = "POST", .path = "/events", .body = "{\"a\":1}"}, {}));
  const auto request = server.requests().at(0);
  EXPECT_EQ(request.body, "{\"a\":1}");
  EXPECT_THAT(request.headers.at("content-type"), HasSubstr("application/json"));
}

TEST(Cpprest, ThePoolHasTwoThreads) {
  const ReplayServer server(ok, serverIdentity());
  const auto threads = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists() ? 1U : 0U;
    return count;
  };
  const auto transport = connect(server);
  ASSERT_TRUE(get(*transport, "/a"));
  // Main, the pool, the server's acceptor, its connections and the library's resolver: 40 more by default.
  EXPECT_LT(threads(), 16U);
}

TEST(Cpprest, AnAddressThatIsNone) {
  EXPECT_FALSE(makeTransport(Access{"no address", {}, {}, {}, {}}));
}

}  // namespace
}  // namespace memqos::kube
