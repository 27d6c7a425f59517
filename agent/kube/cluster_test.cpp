// The whole room against a server on a socket, with TLS, on the real loop and real threads.
#include "kube/cluster.h"

#include "kube/fake_api.h"
#include "kube/transport/cpprest.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() {
    distrustSystemStore();
    loop_ = loop::makeLoop().value();
    Access access{api_.server().url(), {.data = FakeApi::ca().certificate}, {.data = "secret"}, {}, {}};
    std::shared_ptr<Transport> transport = makeTransport(std::move(access)).value();
    ClusterOptions options{"n1", "memqos-system", "memqos", {}};
    options.tuning.startJitter = 0ms;
    options.tuning.firstBackOff = 20ms;
    options.tuning.longestBackOff = 40ms;
    cluster_ = std::make_unique<Cluster>(
        *loop_, std::move(transport), std::move(options),
        Cluster::Callbacks{[this] { ++changes_; }, [this](Bytes bytes) { allocatable_ = bytes; }});
  }
  ~ClusterTest() override { cluster_.reset(); }
  // Runs the loop, which can be done once, through steps: each is asked until it holds, then the next. False: not
  // within a time that no test should need.
  bool play(const std::vector<std::function<bool()>>& steps) {
    const auto deadline = loop_->now() + 20s;
    std::size_t step = 0;
    const auto tick = loop_->every(2ms, [&] {
      while (step < steps.size() && steps[step]()) ++step;
      if (step == steps.size() || loop_->now() > deadline) loop_->stop(0);
    });
    loop_->run();
    EXPECT_EQ(step, steps.size()) << "the step that never held";
    return step == steps.size();
  }
  // Steps that tests share.
  std::function<bool()> following() {
    return [this] { return changes_ > 0 && api_.count("GET", "/api/v1/pods", true) > 0; };
  }
  static std::function<bool()> act(std::function<void()> action) {
    return [action = std::move(action)] {
      action();
      return true;
    };
  }
  FakeApi api_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<Cluster> cluster_;
  int changes_ = 0;
  Bytes allocatable_;
};

TEST_F(ClusterTest, KnowsItsPodsAndItsNode) {
  api_.setPods("10", {podJson("a", "8"), podJson("b", "9")});
  EXPECT_THAT(cluster_->notReady(), HasSubstr("the first list of this node's pods has not come yet"));
  cluster_->start();
  ASSERT_TRUE(play({following(), [&] { return allocatable_ != Bytes{}; }})) << cluster_->notReady();
  EXPECT_TRUE(cluster_->synced());
  EXPECT_EQ(cluster_->pods().size(), 2U);
  EXPECT_EQ(allocatable_, mebibytes(3072));
  EXPECT_EQ(cluster_->notReady(), "");
  for (const auto& request : api_.server().requests()) EXPECT_EQ(request.headers.at("authorization"), "Bearer secret");
}

TEST_F(ClusterTest, FollowsThroughOutages) {
  api_.setPods("10", {podJson("a", "8"), podJson("b", "9")});
  cluster_->start();
  const bool played = play({following(), act([&] { api_.push(eventJson("ADDED", podJson("c", "11"))); }),
                            [&] { return cluster_->pods().contains("shop/c"); }, act([&] {
                              api_.away = true;
                              api_.server().breakConnections();
                            }),
                            [&] { return cluster_->restarts()["broken"] >= 3; }, act([&] {
                              EXPECT_EQ(cluster_->pods().size(), 3U) << "what is known stays";
                              api_.away = false;
                              api_.push(eventJson("DELETED", podJson("a", "12")));
                            }),
                            [&] { return cluster_->pods().size() == 2; }});
  EXPECT_TRUE(played);
  EXPECT_EQ(api_.count("GET", "/api/v1/pods"), 1U) << "watched again, never listed again";
}

TEST_F(ClusterTest, ABurstThatFitsTheWayIsFollowedToItsEnd) {
  std::vector<std::string> pods;
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "p" + std::to_string(i);
    pods.push_back(podJson(name, std::to_string(i)));
    lines +=
        eventJson("MODIFIED", podJson(name, std::to_string(300 + i), R"("annotations":{"memqos.io/class":"gold"})"));
  }
  api_.setPods("200", pods);
  cluster_->start();
  ASSERT_TRUE(play({following(), act([&] { api_.push(lines); }),
                    [&] { return !cluster_->pods().at("shop/p199").pod.annotations.empty(); }}));
  for (const auto& [key, record] : cluster_->pods()) EXPECT_EQ(record.pod.annotations.size(), 1U) << key;
}

TEST_F(ClusterTest, AChangeThatIsNoneIsNotTold) {
  api_.setPods("10", {podJson("a", "8")});
  cluster_->start();
  int before = 0;
  ASSERT_TRUE(play({following(), act([&] {
                      before = changes_;
                      api_.push(eventJson("MODIFIED", podJson("a", "11", R"("labels":{"x":"y"})")));
                      api_.push(eventJson("ADDED", podJson("z", "12")));
                    }),
                    [&] { return cluster_->pods().contains("shop/z") && changes_ > before; }}));
  EXPECT_EQ(changes_ - before, 1);
}

TEST_F(ClusterTest, AFindingBecomesAnEvent) {
  report::Event event;
  event.reason = "InvalidAnnotation";
  event.nameSpace = "shop";
  event.pod = "a";
  event.uid = "uid-a";
  event.message = "wrong";
  cluster_->start();
  cluster_->tell(event);
  ASSERT_TRUE(play({[&] { return cluster_->requests().contains({"create", "events", "201"}); }}));
  EXPECT_EQ(api_.count("POST", "/apis/events.k8s.io/v1/namespaces/shop/events"), 1U);
}

TEST_F(ClusterTest, AnUninstallIsNoticed) {
  cluster_->start();
  std::vector<bool> answers;
  const auto ask = act([&] { cluster_->askUninstalled([&](bool uninstalled) { answers.push_back(uninstalled); }); });
  ASSERT_TRUE(play({[&] {
                      return cluster_->requests().contains({"get", "daemonsets", "200"});
                    },
                    ask, [&] { return answers.size() == 1; }, act([&] { api_.daemonSetStatus = 404; }), ask,
                    [&] { return answers.size() == 2; }}));
  EXPECT_THAT(answers, ::testing::ElementsAre(false, true));
}

TEST_F(ClusterTest, ADaemonSetThatWasNeverSeenSaysNothing) {
  api_.daemonSetStatus = 404;
  cluster_->start();
  ASSERT_TRUE(play({[&] { return cluster_->requests().contains({"get", "daemonsets", "404"}); }}));
  std::optional<bool> answer;
  cluster_->askUninstalled([&](bool uninstalled) { answer = uninstalled; });
  EXPECT_EQ(answer, false);
}

TEST_F(ClusterTest, EndsWhileWatchesAreOpen) {
  cluster_->start();
  ASSERT_TRUE(play({following(), [&] { return api_.count("GET", "/api/v1/nodes", true) > 0; }}));
  const auto begun = std::chrono::steady_clock::now();
  cluster_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s) << "the lanes give up on a thread after 5 s";
}

}  // namespace
}  // namespace memqos::kube
