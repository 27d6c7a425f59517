#include "loop/lane.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "base/fd.h"
#include "base/log.h"

namespace memqos::loop {
namespace {

using namespace std::chrono_literals;
using Outcome = Lane::Outcome;

class LaneTest : public testing::Test {
 protected:
  LaneTest() {
    auto made = makeLoop();
    EXPECT_TRUE(made);
    loop_ = std::move(*made);
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe(fds.data()), 0);
    out_ = Fd(fds[0]);
    in_ = Fd(fds[1]);
    log::capture([](std::string_view) {});
  }
  ~LaneTest() override { log::capture(nullptr); }

  // A read that nobody answers: returns only when a signal interrupts it. The errno, or 0.
  int blockedRead() const {
    char byte = 0;
    return ::read(out_.get(), &byte, 1) < 0 ? errno : 0;
  }
  auto record(std::vector<Outcome>& outcomes, std::size_t stopAt) {
    return [this, &outcomes, stopAt](Outcome outcome) {
      outcomes.push_back(outcome);
      if (outcomes.size() == stopAt) loop_->stop(0);
    };
  }

  std::unique_ptr<Loop> loop_;
  Fd in_, out_;
  std::vector<Outcome> outcomes_;
};

TEST_F(LaneTest, RunsJobsInOrderOnItsThreadAndReportsOnTheLoop) {
  const auto lane = makeLane(*loop_, "a-lane-with-a-long-name");
  const auto mine = std::this_thread::get_id();
  std::string order;
  for (const char letter : {'a', 'b', 'c'}) {
    ASSERT_TRUE(lane->submit(
        1h,
        [&, letter] {
          EXPECT_NE(std::this_thread::get_id(), mine);
          order += letter;
        },
        [&, mine](Outcome outcome) {
          EXPECT_EQ(std::this_thread::get_id(), mine);
          record(outcomes_, 3)(outcome);
        }));
  }
  EXPECT_EQ(loop_->run(), 0);
  EXPECT_EQ(order, "abc");
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::done, Outcome::done, Outcome::done));
  EXPECT_EQ(lane->stats().done, 3U);
  EXPECT_EQ(lane->stats().timedOut, 0U);
  EXPECT_EQ(lane->stats().queued, 0U);
}

TEST_F(LaneTest, TheThreadHasANameAndBlocksSignals) {
  const auto lane = makeLane(*loop_, "a-lane-with-a-long-name");
  std::array<char, 16> name{};
  sigset_t mask;
  sigemptyset(&mask);
  ASSERT_TRUE(lane->submit(
      1h,
      [&] {
        ::pthread_getname_np(::pthread_self(), name.data(), name.size());
        ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      },
      record(outcomes_, 1)));
  loop_->run();
  EXPECT_STREQ(name.data(), "a-lane-with-a-l");
  EXPECT_TRUE(sigismember(&mask, SIGTERM));
  EXPECT_TRUE(sigismember(&mask, SIGUSR1));
  EXPECT_FALSE(sigismember(&mask, SIGSEGV));
}

TEST_F(LaneTest, ADeadlineInterruptsABlockedReadAgainAndAgain) {
  const auto lane = makeLane(*loop_, "test");
  std::vector<int> errors;
  ASSERT_TRUE(lane->submit(
      1ms,
      [&] {
        for (int i = 0; i < 3; ++i) errors.push_back(blockedRead());
      },
      record(outcomes_, 1)));
  loop_->run();
  EXPECT_THAT(errors, testing::ElementsAre(EINTR, EINTR, EINTR));
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::late));
  EXPECT_EQ(lane->stats().timedOut, 1U);
  EXPECT_EQ(lane->stats().done, 0U);
}

TEST_F(LaneTest, TheNextJobIsNotInterruptedForTheLastOne) {
  const auto lane = makeLane(*loop_, "test");
  int first = 0;
  int second = 0;
  Handle answer;
  ASSERT_TRUE(lane->submit(
      1ms, [&] { first = blockedRead(); },
      [&](Outcome outcome) {
        outcomes_.push_back(outcome);
        answer = loop_->after(80ms, [&] { EXPECT_EQ(::write(in_.get(), "x", 1), 1); });  // several repeats later
      }));
  ASSERT_TRUE(lane->submit(
      1h, [&] { second = blockedRead(); }, record(outcomes_, 2)));
  loop_->run();
  EXPECT_EQ(first, EINTR);
  EXPECT_EQ(second, 0);
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::late, Outcome::done));
}

TEST_F(LaneTest, AFullQueueDrops) {
  const auto lane = makeLane(*loop_, "test", 1, 2);
  std::atomic<bool> release = false;
  std::atomic<bool> started = false;
  const auto wait = [&] {
    started = true;
    while (!release) std::this_thread::sleep_for(1ms);
  };
  ASSERT_TRUE(lane->submit(1h, wait, record(outcomes_, 3)));
  while (!started) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(lane->submit(1h, wait, record(outcomes_, 3)));
  EXPECT_TRUE(lane->submit(1h, wait, record(outcomes_, 3)));
  EXPECT_EQ(lane->stats().queued, 2U);
  EXPECT_FALSE(lane->submit(
      1h, [] { FAIL(); }, [](Outcome) { FAIL(); }));
  EXPECT_EQ(lane->stats().dropped, 1U);
  release = true;
  loop_->run();
  EXPECT_EQ(lane->stats().done, 3U);
}

TEST_F(LaneTest, ALostThreadIsReplacedAndEndsWhenItReturns) {
  const auto lane = makeLane(*loop_, "test", 1, 4096, 20ms);
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto stuck = [release] {
    while (!*release) std::this_thread::sleep_for(1ms);
  };
  ASSERT_TRUE(lane->submit(1ms, stuck, record(outcomes_, 3)));
  ASSERT_TRUE(lane->submit(
      1h, [] {}, record(outcomes_, 3)));  // the replacement takes it
  ASSERT_TRUE(lane->submit(
      1h, [release] { *release = true; }, record(outcomes_, 3)));
  loop_->run();
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::lost, Outcome::done, Outcome::done));
  EXPECT_EQ(lane->stats().lostThreads, 1U);
  EXPECT_EQ(lane->stats().timedOut, 1U);
  EXPECT_EQ(lane->stats().done, 2U);
}

TEST_F(LaneTest, WithEveryThreadLostItRefusesUntilOneReturns) {
  const auto lane = makeLane(*loop_, "test", 1, 4096, 20ms);
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto stuck = [release] {
    while (!*release) std::this_thread::sleep_for(1ms);
  };
  Handle retry;
  const auto afterTheLast = [&](Outcome outcome) {
    outcomes_.push_back(outcome);
    if (outcomes_.size() < 3) return;
    EXPECT_FALSE(lane->submit(
        1h, [] {}, [](Outcome) {}));
    *release = true;
    retry = loop_->every(1ms, [&] {
      if (lane->submit(
              1h, [] {}, record(outcomes_, 4)))
        retry.reset();
    });
  };
  ASSERT_TRUE(lane->submit(1ms, stuck, afterTheLast));
  ASSERT_TRUE(lane->submit(1ms, stuck, afterTheLast));
  ASSERT_TRUE(lane->submit(
      1h, [] { FAIL(); }, afterTheLast));
  loop_->run();
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::lost, Outcome::lost, Outcome::lost, Outcome::done));
  EXPECT_EQ(lane->stats().lostThreads, 2U);
}

TEST_F(LaneTest, DestroyingItInterruptsWhatRunsAndReportsNothing) {
  auto lane = makeLane(*loop_, "test");
  std::atomic<bool> started = false;
  int error = 0;
  const auto captured = std::make_shared<int>(0);
  const auto never = [captured](Outcome) { FAIL(); };
  ASSERT_TRUE(lane->submit(
      1h,
      [&] {
        started = true;
        error = blockedRead();
      },
      never));
  ASSERT_TRUE(lane->submit(
      1h, [] { FAIL(); }, never));
  while (!started) std::this_thread::sleep_for(1ms);
  lane.reset();
  EXPECT_EQ(error, EINTR);
  EXPECT_EQ(captured.use_count(), 2) << "only `never` still holds the callback's values";
  loop_->post([&] { loop_->stop(0); });
  loop_->run();
}

TEST_F(LaneTest, DestroyingItLeavesALostThreadBehind) {
  auto lane = makeLane(*loop_, "test", 1, 4096, 20ms);
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto value = std::make_shared<int>(0);  // as long as the work lives
  ASSERT_TRUE(lane->submit(
      1ms,
      [release, value] {
        while (!*release) std::this_thread::sleep_for(1ms);
      },
      record(outcomes_, 1)));
  loop_->run();
  EXPECT_THAT(outcomes_, testing::ElementsAre(Outcome::lost));
  lane.reset();
  EXPECT_EQ(value.use_count(), 2);
  *release = true;
  while (value.use_count() > 1) std::this_thread::sleep_for(1ms);  // it returns into a pool that has stopped
}

TEST_F(LaneTest, ACallbackMayDestroyTheLane) {
  auto lane = makeLane(*loop_, "test");
  ASSERT_TRUE(lane->submit(
      1h, [] {},
      [&](Outcome) {
        lane.reset();
        loop_->stop(0);
      }));
  EXPECT_EQ(loop_->run(), 0);
  EXPECT_EQ(lane, nullptr);
}

}  // namespace
}  // namespace memqos::loop
