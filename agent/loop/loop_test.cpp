#include "loop/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include "base/fd.h"

namespace memqos::loop {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Loop> newLoop() {
  auto loop = makeLoop();
  EXPECT_TRUE(loop) << loop.error().text();
  return std::move(*loop);
}

struct Pipe {
  Fd in, out;
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe(fds.data()), 0);
    out = Fd(fds[0]);
    in = Fd(fds[1]);
  }
};

TEST(NextTick, KeepsItsPhaseAndSkipsWhatWasMissed) {
  const TimePoint t0(100s);
  EXPECT_EQ(nextTick(t0, 10s, t0), t0 + 10s);
  EXPECT_EQ(nextTick(t0, 10s, t0 + 3s), t0 + 10s);
  EXPECT_EQ(nextTick(t0, 10s, t0 + 10s), t0 + 20s);
  EXPECT_EQ(nextTick(t0, 10s, t0 + 47s), t0 + 50s);
  EXPECT_EQ(nextTick(t0, 10s, t0 - 1s), t0 + 10s);
}

TEST(Handle, CancelsOnce) {
  int cancelled = 0;
  Handle a([&] { ++cancelled; });
  Handle b(std::move(a));
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): what is asked here
  EXPECT_TRUE(b);
  a.reset();
  EXPECT_EQ(cancelled, 0);
  b = Handle([&] { cancelled += 10; });
  EXPECT_EQ(cancelled, 1);
  b.reset();
  b.reset();
  EXPECT_EQ(cancelled, 11);
}

TEST(SdEventLoop, RunsTimersAndNeverEarly) {
  const auto loop = newLoop();
  const TimePoint start = loop->now();
  int ran = 0;
  const auto expect = [&](Duration delay) {
    return loop->at(start + delay, [&ran, &loop, due = start + delay] {
      EXPECT_GE(loop->now(), due);
      if (++ran == 3) loop->stop(7);
    });
  };
  const auto late = expect(20ms);
  const auto early = expect(5ms);
  const auto past = expect(-1h);
  auto cancelled = loop->after(1ms, [] { FAIL(); });
  cancelled.reset();
  EXPECT_EQ(loop->run(), 7);
  EXPECT_EQ(ran, 3);
}

TEST(SdEventLoop, ACallbackMayDropItsOwnHandle) {
  const auto loop = newLoop();
  int ticks = 0;
  auto shared = std::make_shared<int>(3);  // lives in the callback: read after the handle is gone
  Handle end;
  Handle every = loop->every(1ms, [&, shared] {
    if (++ticks < *shared) return;
    every.reset();
    end = loop->after(5ms, [&] { loop->stop(0); });
    EXPECT_EQ(*shared, 3);
  });
  Pipe pipe;
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  int reads = 0;
  Result<Handle> watch;
  watch = loop->watch(pipe.out.get(), EPOLLIN, [&, shared](std::uint32_t events) {
    EXPECT_EQ(events, static_cast<std::uint32_t>(EPOLLIN));
    ++reads;
    watch->reset();
    EXPECT_EQ(*shared, 3);
  });
  ASSERT_TRUE(watch);
  EXPECT_EQ(loop->run(), 0);
  EXPECT_EQ(ticks, 3);
  EXPECT_EQ(reads, 1);
}

TEST(SdEventLoop, AHandleMayOutliveTheLoop) {
  auto loop = newLoop();
  const Handle timer = loop->after(1h, [] {});
  loop.reset();
  EXPECT_TRUE(timer);
}

TEST(SdEventLoop, WatchRefusesWhatEpollCannot) {
  const auto loop = newLoop();
  const auto bad = loop->watch(9999, EPOLLIN, [](std::uint32_t) {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().sysErrno, EBADF);
}

TEST(SdEventLoop, RunsPostsOfOtherThreadsInOrder) {
  const auto loop = newLoop();
  const auto mine = std::this_thread::get_id();
  std::vector<int> seen;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      loop->post([&seen, &mine, i] {
        EXPECT_EQ(std::this_thread::get_id(), mine);
        seen.push_back(i);
      });
    }
    loop->post([&] { loop->post([&] { loop->stop(0); }); });
  });
  EXPECT_EQ(loop->run(), 0);
  other.join();
  ASSERT_EQ(seen.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST(SdEventLoop, TellsOfABlockedSignal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  const auto loop = newLoop();
  EXPECT_FALSE(loop->onSignal(SIGUSR1, [] {})) << "not blocked yet";
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  auto signal = loop->onSignal(SIGUSR1, [&] { loop->stop(3); });
  ASSERT_TRUE(signal) << signal.error().text();
  loop->post([] { ::pthread_kill(::pthread_self(), SIGUSR1); });
  EXPECT_EQ(loop->run(), 3);
  signal->reset();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace
}  // namespace memqos::loop
