#include "kube/events.h"

#include "kube/fake_transport.h"
#include "kube/objects.h"
#include "loop/fake_lane.h"
#include "loop/fake_loop.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

report::Event event(const std::string& pod = "web-0",
                    const std::string& message = "memqos.io/memory-min: '64MB' is no quantity") {
  report::Event out;
  out.reason = "InvalidAnnotation";
  out.severity = policy::Severity::error;
  out.nameSpace = "shop";
  out.pod = pod;
  out.uid = "u-1";
  out.message = message;
  return out;
}
const auto kNow = std::chrono::system_clock::time_point(1'796'000'000s + 123us);

TEST(EventBody, HasAllThatTheApiServerAsksFor) {
  const document::Node body = eventBody(event(), "n1", kNow);
  const std::map<std::string, std::string> expected = {{"apiVersion", "events.k8s.io/v1"},
                                                       {"kind", "Event"},
                                                       {"metadata.namespace", "shop"},
                                                       {"eventTime", "2026-11-30T00:53:20.000123Z"},
                                                       {"action", "ProgramMemory"},
                                                       {"reason", "InvalidAnnotation"},
                                                       {"reportingController", "memqos.io/agent"},
                                                       {"reportingInstance", "n1"},
                                                       {"regarding.kind", "Pod"},
                                                       {"regarding.apiVersion", "v1"},
                                                       {"regarding.namespace", "shop"},
                                                       {"regarding.name", "web-0"},
                                                       {"regarding.uid", "u-1"},
                                                       {"regarding.fieldPath", ""},
                                                       {"note", "memqos.io/memory-min: '64MB' is no quantity"},
                                                       {"type", "Warning"}};
  for (const auto& [path, value] : expected) EXPECT_EQ(textAt(body, path), value) << path;
  report::Event ofContainer = event();
  ofContainer.container = "app";
  EXPECT_EQ(textAt(eventBody(ofContainer, "n1", kNow), "regarding.fieldPath"), "spec.containers{app}");
}

TEST(EventBody, TheNameIsThatOfTheFinding) {
  const auto nameOf = [](const report::Event& e) { return textAt(eventBody(e, "n1", kNow), "metadata.name"); };
  EXPECT_EQ(nameOf(event()), nameOf(event()));
  EXPECT_THAT(nameOf(event()), ::testing::StartsWith("web-0."));
  EXPECT_NE(nameOf(event()), nameOf(event("web-0", "something else")));
  report::Event other = event();
  other.uid = "u-2";
  EXPECT_NE(nameOf(event()), nameOf(other));
  const std::string cut = nameOf(event(std::string(235, 'a') + "-" + std::string(17, 'b')));
  EXPECT_LE(cut.size(), 253U);
  EXPECT_THAT(cut.substr(0, cut.size() - 17), EndsWith("a")) << "a name does not end in a dash";
}

TEST(EventBody, IsCutToTheLimits) {
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\xC3\xA4";
  const document::Node body = eventBody(event("web-0", wide), std::string(300, 'n'), kNow);
  EXPECT_LE(textAt(body, "note").size(), 1024U);
  EXPECT_GE(textAt(body, "note").size(), 1020U);
  EXPECT_THAT(textAt(body, "note"), EndsWith("\xC3\xA4..."));
  EXPECT_LE(textAt(body, "reportingInstance").size(), 128U);
}

class EventWriterTest : public ::testing::Test {
 protected:
  void answer(int status, std::optional<std::chrono::seconds> retryAfter = {}) {
    transport_->then({.status = status, .parts = {"{}"}, .retryAfter = retryAfter});
  }
  void settle() {
    loop_.settle();
    while (lane_.runNext()) loop_.settle();
  }
  loop::FakeLoop loop_;
  loop::FakeLane lane_{loop_};
  std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  EventWriter writer_{loop_, lane_, transport_, "n1", {}, {.burst = 3, .longestQueue = 5}};
};

TEST_F(EventWriterTest, WritesIntoThePodsNamespace) {
  answer(201);
  writer_.tell(event());
  settle();
  ASSERT_EQ(transport_->requests().size(), 1U);
  EXPECT_EQ(transport_->requests()[0].method, "POST");
  EXPECT_EQ(transport_->requests()[0].path, "/apis/events.k8s.io/v1/namespaces/shop/events");
  EXPECT_EQ(textAt(document::parseJson(transport_->requests()[0].body).value(), "regarding.name"), "web-0");
  EXPECT_EQ(writer_.requests().at({"create", "events", "201"}), 1U);
}

TEST_F(EventWriterTest, WhatIsThereAlreadyIsDone) {
  answer(409);
  writer_.tell(event());
  settle();
  loop_.advance(10min);
  settle();
  EXPECT_EQ(transport_->requests().size(), 1U);
  EXPECT_EQ(writer_.dropped(), 0U);
}

TEST_F(EventWriterTest, IsPaced) {
  for (int i = 0; i < 5; ++i) {
    answer(201);
    writer_.tell(event("web-" + std::to_string(i)));
  }
  settle();
  EXPECT_EQ(transport_->requests().size(), 3U);
  loop_.advance(1s);
  settle();
  EXPECT_EQ(transport_->requests().size(), 4U);
  loop_.advance(1s);
  settle();
  EXPECT_EQ(transport_->requests().size(), 5U);
}

TEST_F(EventWriterTest, ManyAreDroppedAndCounted) {
  for (int i = 0; i < 9; ++i) writer_.tell(event("web-" + std::to_string(i)));
  EXPECT_EQ(writer_.dropped(), 4U);
}

TEST_F(EventWriterTest, WaitsForAServerThatIsAway) {
  writer_.tell(event());  // nobody is there
  settle();
  for (const auto wait : {2s, 4s, 8s}) {
    loop_.advance(wait - 1ms);
    settle();
    const std::size_t before = transport_->requests().size();
    loop_.advance(1ms);
    settle();
    EXPECT_EQ(transport_->requests().size(), before + 1);
  }
  answer(201);
  loop_.advance(16s);
  settle();
  EXPECT_EQ(writer_.requests().at({"create", "events", "201"}), 1U);
  EXPECT_EQ(writer_.dropped(), 0U);
}

TEST_F(EventWriterTest, WaitsAsLongAsItIsTold) {
  answer(429, 30s);
  answer(201);
  writer_.tell(event());
  settle();
  loop_.advance(29s);
  settle();
  EXPECT_EQ(transport_->requests().size(), 1U);
  loop_.advance(1s);
  settle();
  EXPECT_EQ(transport_->requests().size(), 2U);
}

TEST_F(EventWriterTest, ARefusalForGoodDoesNotHoldUpTheOthers) {
  answer(403);
  answer(201);
  writer_.tell(event("web-0"));
  writer_.tell(event("web-1"));
  settle();
  EXPECT_EQ(transport_->requests().size(), 2U);
  EXPECT_EQ(writer_.dropped(), 1U);
}

TEST_F(EventWriterTest, ALostRequestIsSentAgain) {
  writer_.tell(event());
  loop_.settle();
  lane_.loseNext();
  loop_.settle();
  answer(201);
  loop_.advance(2s);
  settle();
  EXPECT_EQ(writer_.requests().at({"create", "events", "201"}), 1U);
}

}  // namespace
}  // namespace memqos::kube
