#include "loop/fake_loop.h"

#include <sys/epoll.h>

#include <csignal>

#include "loop/fake_lane.h"

namespace memqos::loop {
namespace {

using namespace std::chrono_literals;
using Outcome = Lane::Outcome;

TEST(FakeLoop, RunsTimersAndPostsInTheOrderOfTime) {
  FakeLoop loop;
  const TimePoint start = loop.now();
  std::string order;
  const auto b = loop.after(20s, [&] {
    EXPECT_EQ(loop.now(), start + 20s);
    order += 'b';
  });
  const auto c = loop.after(20s, [&] { order += 'c'; });
  const auto a = loop.after(10s, [&] {
    order += 'a';
    loop.post([&] { order += 'p'; });
  });
  const auto tick = loop.every(15s, [&] { order += 't'; });
  auto cancelled = loop.after(1s, [&] { order += 'x'; });
  cancelled.reset();
  EXPECT_EQ(loop.nextTimer(), start + 10s);
  loop.advance(30s);
  EXPECT_EQ(order, "aptbct");
  EXPECT_EQ(loop.now(), start + 30s);
  EXPECT_EQ(loop.timers(), 1U);
}

TEST(FakeLoop, ACallbackMayDropItsOwnHandle) {
  FakeLoop loop;
  int ticks = 0;
  Handle tick;
  tick = loop.every(1s, [&, value = std::make_shared<int>(2)] {
    if (++ticks < *value) return;
    tick.reset();
    EXPECT_EQ(*value, 2);
  });
  loop.advance(10s);
  EXPECT_EQ(ticks, 2);
  EXPECT_EQ(loop.nextTimer(), std::nullopt);
}

TEST(FakeLoop, DescriptorsAndSignalsAreTriggered) {
  FakeLoop loop;
  std::uint32_t seen = 0;
  auto watch = loop.watch(5, EPOLLIN, [&](std::uint32_t events) { seen = events; });
  ASSERT_TRUE(watch);
  EXPECT_FALSE(loop.watch(5, EPOLLIN, [](std::uint32_t) {}));
  EXPECT_FALSE(loop.trigger(5, EPOLLPRI));
  EXPECT_TRUE(loop.trigger(5, EPOLLIN | EPOLLHUP | EPOLLPRI));
  EXPECT_EQ(seen, static_cast<std::uint32_t>(EPOLLIN | EPOLLHUP));
  watch->reset();
  EXPECT_FALSE(loop.trigger(5, EPOLLIN));
  int signals = 0;
  auto signal = loop.onSignal(SIGTERM, [&] { ++signals; });
  ASSERT_TRUE(signal);
  EXPECT_TRUE(loop.raise(SIGTERM));
  EXPECT_FALSE(loop.raise(SIGHUP));
  EXPECT_EQ(signals, 1);
}

TEST(FakeLoop, RunEndsWithStopOrWithNothingLeft) {
  FakeLoop loop;
  EXPECT_EQ(loop.run(), -1);
  const auto tick = loop.every(1s, [] {});
  const auto stop = loop.after(1h, [&] { loop.stop(4); });
  EXPECT_EQ(loop.run(), 4);
}

TEST(FakeLane, HeldJobsRunInTheOrderOfTheTestsChoice) {
  FakeLoop loop;
  FakeLane lane(loop, FakeLane::Mode::held, 3);
  int worked = 0;
  std::vector<Outcome> outcomes;
  const auto work = [&] { ++worked; };
  const auto done = [&](Outcome outcome) { outcomes.push_back(outcome); };
  EXPECT_TRUE(lane.submit(5s, work, done));
  EXPECT_TRUE(lane.submit(6s, work, done));
  EXPECT_TRUE(lane.submit(7s, work, done));
  EXPECT_FALSE(lane.submit(8s, work, done));
  EXPECT_EQ(lane.nextDeadline(), 5s);
  EXPECT_TRUE(lane.runNext());
  EXPECT_THAT(outcomes, testing::IsEmpty()) << "the result comes through the loop";
  EXPECT_TRUE(lane.runNextLate());
  EXPECT_TRUE(lane.loseNext());
  EXPECT_FALSE(lane.runNext());
  loop.settle();
  EXPECT_THAT(outcomes, testing::ElementsAre(Outcome::done, Outcome::late, Outcome::lost));
  EXPECT_EQ(worked, 2);
  EXPECT_EQ(lane.stats().dropped, 1U);
  EXPECT_EQ(lane.stats().timedOut, 2U);
}

TEST(FakeLane, ImmediateJobsRunAtOnceAndADestroyedLaneReportsNothing) {
  FakeLoop loop;
  bool worked = false;
  {
    FakeLane lane(loop, FakeLane::Mode::immediate);
    EXPECT_TRUE(lane.submit(
        1s, [&] { worked = true; }, [](Outcome) { FAIL(); }));
  }
  EXPECT_TRUE(worked);
  loop.settle();
}

}  // namespace
}  // namespace memqos::loop
