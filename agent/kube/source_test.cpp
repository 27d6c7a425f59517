#include "kube/source.h"

#include "kube/fake_transport.h"
#include "kube/objects.h"
#include "loop/fake_lane.h"
#include "loop/fake_loop.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    Resource resource{"pods", "/api/v1/pods", "spec.nodeName=n1",
                      [](const document::Node& object) -> std::optional<std::any> {
                        if (textAt(object, "metadata.uid").empty()) return std::nullopt;
                        return textAt(object, "metadata.resourceVersion");
                      }};
    auto lane = std::make_unique<loop::FakeLane>(loop_);
    lane_ = lane.get();
    source_ = std::make_unique<Source>(
        loop_, std::move(lane), transport_, std::move(resource),
        Source::Callbacks{
            [this](std::vector<Object> objects) {
              ++replaced_;
              store_.clear();
              for (Object& object : objects) store_[object.key] = std::any_cast<std::string>(object.value);
            },
            [this](const Object& object) { store_[object.key] = std::any_cast<std::string>(object.value); },
            [this](const std::string& key) { store_.erase(key); }, [] {}},
        ReflectorTuning{}, [] { return 0.0; });
  }
  void answer(ScriptedTransport::Answer answer) { transport_->then(std::move(answer)); }
  // One request and what it brings.
  void step() {
    loop_.settle();
    lane_->runNext();
    loop_.settle();
  }
  void startAndSync() {
    answer({.parts = {listJson("10", {podJson("a", "8"), podJson("b", "9")})}});
    source_->start();
    loop_.advance(1ms);
    step();
  }
  loop::FakeLoop loop_;
  std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  loop::FakeLane* lane_ = nullptr;
  std::unique_ptr<Source> source_;
  std::map<std::string, std::string> store_;
  int replaced_ = 0;
};

// netdata/netdata#9014: an agent that watched the pods of all nodes.
TEST_F(SourceTest, ListsFromTheWatchCacheWithTheSelector) {
  startAndSync();
  EXPECT_TRUE(source_->synced());
  EXPECT_EQ(transport_->requests()[0].path, "/api/v1/pods");
  EXPECT_EQ(transport_->query(0, "fieldSelector"), "spec.nodeName=n1");
  EXPECT_EQ(transport_->query(0, "resourceVersion"), "0");
  EXPECT_EQ(transport_->query(0, "limit"), "-");
  EXPECT_THAT(store_, UnorderedElementsAre(std::pair("shop/a", "8"), std::pair("shop/b", "9")));
  EXPECT_EQ(source_->requests().at({"list", "pods", "200"}), 1U);
}

TEST_F(SourceTest, FollowsTheWatch) {
  startAndSync();
  answer(
      {.parts = {
           eventJson("MODIFIED", podJson("a", "11")) + eventJson("ADDED", podJson("c", "12")),
           eventJson("DELETED", podJson("b", "13")),
           eventJson(
               "BOOKMARK",
               R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"227"},"spec":{"containers":null},"status":{}})")}});
  step();
  EXPECT_EQ(transport_->query(1, "watch"), "1");
  EXPECT_EQ(transport_->query(1, "allowWatchBookmarks"), "true");
  EXPECT_EQ(transport_->query(1, "resourceVersion"), "10");
  EXPECT_EQ(transport_->query(1, "timeoutSeconds"), "300");
  EXPECT_EQ(transport_->query(1, "fieldSelector"), "spec.nodeName=n1");
  EXPECT_THAT(store_, UnorderedElementsAre(std::pair("shop/a", "11"), std::pair("shop/c", "12")));
  step();
  EXPECT_EQ(transport_->query(2, "resourceVersion"), "227");
}

TEST_F(SourceTest, ALineInManyParts) {
  startAndSync();
  const std::string line = eventJson("MODIFIED", podJson("a", "11"));
  std::vector<std::string> parts;
  for (const char c : line) parts.emplace_back(1, c);
  answer({.parts = parts});
  step();
  EXPECT_EQ(store_["shop/a"], "11");
}

TEST_F(SourceTest, ALineOfAMegabyte) {
  startAndSync();
  answer({.parts = {eventJson("MODIFIED",
                              podJson("a", "11", R"("annotations":{"x":")" + std::string(1 << 20, 'x') + "\"}"))}});
  step();
  EXPECT_EQ(store_["shop/a"], "11");
}

TEST_F(SourceTest, AnOutageKeepsTheStore) {
  startAndSync();
  answer({.parts = {}, .error = Error{Code::io, 0, {}, "the connection broke"}});
  step();
  EXPECT_EQ(store_.size(), 2U);
  EXPECT_EQ(source_->problem(), "the connection broke");
  for (int i = 0; i < 20; ++i) {  // nobody is there, for minutes
    loop_.advance(31s);
    step();
  }
  EXPECT_EQ(store_.size(), 2U);
  EXPECT_EQ(replaced_, 1);
  EXPECT_GT(source_->requests().at({"watch", "pods", "io"}), 5U);
  answer({.parts = {eventJson("MODIFIED", podJson("a", "11"))}});
  loop_.advance(61s);
  step();
  EXPECT_EQ(source_->problem(), "");
  EXPECT_EQ(store_["shop/a"], "11");
}

TEST_F(SourceTest, ARefusedListSaysWhy) {
  answer({.status = 403, .parts = {recorded("kubernetes-1.36/403-serviceaccount.json")}});
  source_->start();
  loop_.advance(1ms);
  step();
  EXPECT_FALSE(source_->synced());
  EXPECT_THAT(source_->problem(), HasSubstr("HTTP 403: nodes is forbidden"));
  EXPECT_EQ(source_->requests().at({"list", "pods", "403"}), 1U);
  EXPECT_EQ(replaced_, 0);
}

TEST_F(SourceTest, AProxysPageIsNoList) {
  answer({.parts = {"<html>please log in</html>"}, .contentType = "text/html"});
  source_->start();
  loop_.advance(1ms);
  step();
  EXPECT_FALSE(source_->synced());
  EXPECT_THAT(source_->problem(), HasSubstr("not of an API server (text/html)"));
}

TEST_F(SourceTest, AProxysPageIsNoWatchEither) {
  startAndSync();
  answer({.parts = {"<html>please log in</html>"}, .contentType = "text/html"});
  step();
  EXPECT_THAT(source_->problem(), HasSubstr("not of an API server"));
  EXPECT_EQ(source_->restarts().at("malformed"), 1U);
  EXPECT_EQ(store_.size(), 2U);
}

TEST_F(SourceTest, ALineThatIsNoEventEndsTheWatchAndListsAgain) {
  for (const char* line : {"{\n", "[]\n", "{\"type\":\"ADDED\"}\n",
                           "{\"type\":\"NEW\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"}}}\n"}) {
    SCOPED_TRACE(line);
    if (!source_->synced()) startAndSync();
    answer({.parts = {line}});
    step();
    answer({.parts = {listJson("20", {podJson("a", "19")})}});
    loop_.advance(31s);
    step();
    const std::size_t last = transport_->requests().size() - 1;
    EXPECT_EQ(transport_->query(last, "resourceVersionMatch"), "NotOlderThan");
    loop_.advance(10min);
  }
  EXPECT_EQ(source_->restarts().at("malformed"), 4U);
}

TEST_F(SourceTest, ACutOffListReplacesNothing) {
  startAndSync();
  answer({.parts = {"{\n"}});
  step();
  const std::string whole = listJson("20", {podJson("x", "19"), podJson("y", "18")});
  answer({.parts = {whole.substr(0, whole.size() / 2)}});
  loop_.advance(31s);
  step();
  EXPECT_THAT(store_, UnorderedElementsAre(std::pair("shop/a", "8"), std::pair("shop/b", "9")));
  EXPECT_THAT(source_->problem(), HasSubstr("cannot be read"));
}

TEST_F(SourceTest, AnObjectThatCannotBeUsedIsAsIfAbsent) {
  startAndSync();
  answer({.parts = {eventJson("MODIFIED", R"({"metadata":{"name":"a","namespace":"shop","resourceVersion":"11"}})")}});
  step();
  EXPECT_FALSE(store_.contains("shop/a"));
  EXPECT_TRUE(store_.contains("shop/b"));
}

TEST_F(SourceTest, ALostThreadIsAFailureAndNoEnd) {
  startAndSync();
  lane_->loseNext();
  loop_.settle();
  EXPECT_EQ(source_->restarts().at("broken"), 1U);
  answer({.parts = {eventJson("MODIFIED", podJson("a", "11"))}});
  loop_.advance(1s);
  step();
  EXPECT_EQ(store_["shop/a"], "11");
}

class RecordedStream : public SourceTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RecordedStream, IsRead) {
  answer({.parts = {recorded(std::string(GetParam()) + "/pod-list.json")}});
  answer({.parts = {recorded(std::string(GetParam()) + "/watch-stream.jsonl")}});
  source_->start();
  loop_.advance(1ms);
  step();
  EXPECT_TRUE(store_.contains("default/p1"));
  EXPECT_TRUE(store_.contains("default/p2"));
  step();
  EXPECT_FALSE(store_.contains("default/p1")) << "it is deleted in the stream";
  EXPECT_TRUE(store_.contains("default/p2"));
  EXPECT_EQ(source_->problem(), "");
}

// The recorded line: HTTP 200, and an ERROR in the stream.
TEST_P(RecordedStream, TooOldIsListedInPagesAndReplacedAtOnce) {
  startAndSync();
  answer({.parts = {recorded(std::string(GetParam()) + "/watch-error-410.jsonl")}});
  step();
  answer({.parts = {listJson("400", {podJson("d", "399")}, R"("continue":"next")")}});
  loop_.advance(2s);
  step();
  EXPECT_EQ(transport_->query(2, "limit"), "500");
  EXPECT_EQ(transport_->query(2, "resourceVersion"), "-");
  EXPECT_EQ(replaced_, 1) << "half a list replaces nothing";
  answer({.parts = {listJson("400", {podJson("e", "398")})}});
  step();
  EXPECT_EQ(transport_->query(3, "continue"), "next");
  EXPECT_THAT(store_, UnorderedElementsAre(std::pair("shop/d", "399"), std::pair("shop/e", "398")));
  EXPECT_EQ(source_->restarts().at("expired"), 1U);
}
INSTANTIATE_TEST_SUITE_P(, RecordedStream, ::testing::Values("kubernetes-1.20", "kubernetes-1.36"),
                         [](const auto& test) { return std::string(test.index == 0 ? "Old" : "New"); });

}  // namespace
}  // namespace memqos::kube
