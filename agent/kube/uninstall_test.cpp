#include "kube/uninstall.h"

#include "kube/fake_transport.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using Verdict = UninstallJudge::Verdict;

const loop::TimePoint kStart{1000h};

Result<Response> answer(int status, const std::string& body = "{}") {
  return Response{{status, "application/json", {}}, body};
}
const Result<Response> kUnreachable = fail(Code::io, "no connection to the server");

TEST(Uninstall, ADaemonSetThatIsThereIsAnUpdate) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, answer(200, R"({"kind":"DaemonSet","metadata":{"name":"memqos"}})")), Verdict::keep);
}

TEST(Uninstall, ADaemonSetThatIsBeingDeletedOrGone) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(
                kStart, answer(200, R"({"kind":"DaemonSet","metadata":{"deletionTimestamp":"2026-11-30T17:23:42Z"}})")),
            Verdict::uninstalled);
  EXPECT_EQ(judge.answered(kStart, answer(404, recorded("kubernetes-1.36/404-notfound.json"))), Verdict::uninstalled);
}

TEST(Uninstall, RefusedForTenSeconds) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, answer(403)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 5s, answer(401)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 9999ms, answer(403)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 10s, answer(403)), Verdict::uninstalled);
}

TEST(Uninstall, ATokenThatWorksAgainIsNoUninstall) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, answer(401)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 9s, answer(200, R"({"kind":"DaemonSet","metadata":{}})")), Verdict::keep);
}

TEST(Uninstall, AServerThatCannotBeReachedSaysNothing) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, kUnreachable), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 1s, answer(500)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 3s, kUnreachable), Verdict::keep);
}

TEST(Uninstall, RefusalsWithABreakBetweenBeginAnew) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, answer(403)), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 8s, kUnreachable), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 10s, answer(403)), Verdict::askAgain);
}

TEST(Uninstall, AProxysPagesSayNothing) {
  UninstallJudge judge;
  EXPECT_EQ(judge.answered(kStart, answer(404, "<html>not found</html>")), Verdict::askAgain);
  EXPECT_EQ(judge.answered(kStart + 3s, answer(200, "<html>log in</html>")), Verdict::keep);
}

}  // namespace
}  // namespace memqos::kube
