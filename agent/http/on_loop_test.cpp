#include "http/on_loop.h"

#include <thread>

#include "loop/fake_loop.h"

namespace memqos::http {
namespace {

using namespace std::chrono_literals;

TEST(OnLoop, AnswersFromTheLoopsThread) {
  auto loop = loop::makeLoop();
  ASSERT_TRUE(loop);
  const auto loops = std::this_thread::get_id();
  Response response;
  std::thread server([&] {
    response = onLoop(**loop, 1h, [&] {
      EXPECT_EQ(std::this_thread::get_id(), loops);
      return Response{201, kJson, "{}"};
    });
    (*loop)->post([&] { (*loop)->stop(0); });
  });
  EXPECT_EQ((*loop)->run(), 0);
  server.join();
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.contentType, kJson);
  EXPECT_EQ(response.body, "{}");
}

TEST(OnLoop, ABusyLoopIs503AndTheQuestionIsDropped) {
  loop::FakeLoop loop;
  const Response response = onLoop(loop, 1ms, [] {
    ADD_FAILURE() << "nobody waits for this any more";
    return Response{};
  });
  EXPECT_EQ(response.status, 503);
  loop.settle();
}

TEST(OnLoop, AReplyMayComeLater) {
  auto loop = loop::makeLoop();
  ASSERT_TRUE(loop);
  Response response;
  loop::Handle timer;
  std::thread server([&] {
    response = onLoopLater(**loop, 1h, [&](Reply reply) {
      timer = (*loop)->after(1ms, [reply] {
        reply({200, kText, "first"});
        reply({200, kText, "second"});
      });
    });
    (*loop)->post([&] { (*loop)->stop(0); });
  });
  EXPECT_EQ((*loop)->run(), 0);
  server.join();
  EXPECT_EQ(response.body, "first");
}

TEST(OnLoop, AReplyAfterTheWaitIsHarmless) {
  auto loop = loop::makeLoop();
  ASSERT_TRUE(loop);
  Reply late;
  Response response;
  std::thread server([&] {
    response = onLoopLater(**loop, 20ms, [&](Reply reply) { late = std::move(reply); });
    (*loop)->post([&] {
      if (late) late({200, kText, "too late"});
      (*loop)->stop(0);
    });
  });
  EXPECT_EQ((*loop)->run(), 0);
  server.join();
  EXPECT_EQ(response.status, 503);
}

}  // namespace
}  // namespace memqos::http
