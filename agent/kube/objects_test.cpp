#include "kube/objects.h"

#include "kube/fake_transport.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Refusal refusal(int status, const std::string& file) {
  return refusalOf(Head{status, "application/json", {}}, recorded(file));
}

TEST(Objects, WordsOfAWatch) {
  EXPECT_EQ(eventType("ADDED"), EventType::added);
  EXPECT_EQ(eventType("BOOKMARK"), EventType::bookmark);
  EXPECT_EQ(eventType("added"), EventType::unknown);
}

TEST(Objects, Keys) {
  const auto pod = document::parseJson(podJson("web-0", "7")).value();
  EXPECT_EQ(keyOf(pod), "shop/web-0");
  EXPECT_EQ(textAt(pod, "metadata.resourceVersion"), "7");
  EXPECT_EQ(textAt(pod, "metadata.nothing.below"), "");
  EXPECT_EQ(textAt(pod, "metadata"), "");
  EXPECT_EQ(keyOf(document::parseJson(R"({"metadata":{"name":"n1"}})").value()), "n1");
}

TEST(Objects, RecordedRefusals) {
  for (const std::string version : {"kubernetes-1.20", "kubernetes-1.36"}) {
    SCOPED_TRACE(version);
    EXPECT_THAT(refusal(401, version + "/401-bad-token.json").text, HasSubstr("HTTP 401: Unauthorized"));
    EXPECT_THAT(refusal(403, version + "/403-serviceaccount.json").text, HasSubstr("forbidden"));
    EXPECT_EQ(refusal(410, version + "/410-list-exact.json").status, 410);
    EXPECT_EQ(refusal(410, version + "/410-continue-expired.json").status, 410);
    EXPECT_LT(refusal(410, version + "/410-continue-expired.json").text.size(), 400U);
  }
  const Refusal tooLarge = refusal(504, "kubernetes-1.36/504-resourceversion-too-large.json");
  EXPECT_EQ(tooLarge.status, 504);
  EXPECT_EQ(tooLarge.retryAfter, 1s);
}

TEST(Objects, TheHeaderSaysMoreThanTheStatus) {
  const Refusal told =
      refusalOf(Head{429, "application/json", 9s}, R"({"kind":"Status","details":{"retryAfterSeconds":1}})");
  EXPECT_EQ(told.retryAfter, 9s);
  EXPECT_EQ(told.text, "HTTP 429: no reason given");
}

TEST(Objects, WhatIsNotOfAnApiServer) {
  const Refusal page = refusalOf(Head{502, "text/html; charset=utf-8", {}}, "<html>bad gateway</html>");
  EXPECT_EQ(page.status, 502);
  EXPECT_EQ(page.text, "HTTP 502: the answer is not of an API server (text/html; charset=utf-8)");
}

TEST(Objects, StatusesThatLie) {
  for (const char* text : {R"({"code":"410"})", R"({"code":-5,"details":[]})",
                           R"({"code":99999,"details":{"retryAfterSeconds":"x"}})", "[]"}) {
    const Refusal out = decodeStatus(document::parseJson(text).value(), 500);
    EXPECT_EQ(out.status, 500) << text;
    EXPECT_EQ(out.retryAfter, std::nullopt) << text;
  }
  const auto eternal = document::parseJson(R"({"code":503,"details":{"retryAfterSeconds":99999999999}})").value();
  EXPECT_EQ(decodeStatus(eternal, 0).retryAfter, 1h);
}

TEST(Objects, CodesAsLabels) {
  EXPECT_EQ(codeLabel(Head{404, "", {}}), "404");
  EXPECT_EQ(codeLabel(fail(Code::timeout, "x")), "timeout");
}

}  // namespace
}  // namespace memqos::kube
