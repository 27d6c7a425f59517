#include "cgroup/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <filesystem>
#include <fstream>

#include "loop/fake_loop.h"
#include "testing/fake_tree.h"

namespace memqos::cgroup {

void PrintTo(const Event& event, std::ostream* out) {
  *out << event.cgroup << " kind " << static_cast<int>(event.kind) << " '" << event.name << "'";
}

namespace {

using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using testing::file;
using ::testing::IsEmpty;
using Kind = Event::Kind;

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    DirectoryWatcher::Callbacks callbacks;
    callbacks.event = [this](const Event& event) {
      events_.push_back(event);
      if (hook_) hook_(event);
    };
    callbacks.rescan = [this] { ++rescans_; };
    watcher_ = DirectoryWatcher::create(loop_, callbacks).value();
  }
  Handle find(const std::string& path) { return root_.find(path).value(); }
  std::vector<Event> drained() {
    events_.clear();
    EXPECT_TRUE(loop_.trigger(watcher_->fd(), EPOLLIN));
    return events_;
  }

  FakeTree tree_{dir("a", {file("memory.high", "max\n"), file("memory.min", "0\n"), dir("b")}), dir("c")};
  Root root_ = Root::open(tree_.path()).value();
  loop::FakeLoop loop_;
  std::unique_ptr<DirectoryWatcher> watcher_;
  std::vector<Event> events_;
  std::function<void(const Event&)> hook_;
  int rescans_ = 0;
};

TEST_F(WatchTest, SeesWritesAndChildren) {
  const auto a = find("a");
  ASSERT_TRUE(watcher_->add(*a));
  tree_.write("a/memory.high", "1\n");
  tree_.write("a/memory.high", "2\n");
  tree_.write("a/memory.min", "3\n");
  tree_.add("a", {dir("new"), file("file", "")});
  tree_.remove("a/b");
  tree_.remove("a/file");
  EXPECT_THAT(drained(),
              ElementsAre(Event{a->id(), Kind::modified, "memory.high"}, Event{a->id(), Kind::modified, "memory.min"},
                          Event{a->id(), Kind::created, "new"}, Event{a->id(), Kind::removed, "b"}))
      << "equal neighbours once; files that come and go are no children";
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_EQ(rescans_, 0);
}

TEST_F(WatchTest, ARenameIsBoth) {
  const auto a = find("a");
  ASSERT_TRUE(watcher_->add(*a));
  std::filesystem::rename(tree_.path("a/b"), tree_.path("a/d"));
  EXPECT_THAT(drained(), ElementsAre(Event{a->id(), Kind::removed, "b"}, Event{a->id(), Kind::created, "d"}));
}

TEST_F(WatchTest, AddingIsCounted) {
  const auto a = find("a");
  ASSERT_TRUE(watcher_->add(*a));
  ASSERT_TRUE(watcher_->add(*find("a")));
  EXPECT_EQ(watcher_->size(), 1u);
  watcher_->remove(a->id());
  tree_.write("a/memory.high", "1\n");
  EXPECT_THAT(drained(), ElementsAre(Event{a->id(), Kind::modified, "memory.high"}));
  watcher_->remove(a->id());
  watcher_->remove(a->id());
  tree_.write("a/memory.high", "1\n");
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_EQ(watcher_->size(), 0u);
}

TEST_F(WatchTest, WatchesTheHeldDirectoryNotItsName) {
  const auto a = find("a");
  std::filesystem::rename(tree_.path("a"), tree_.path("moved"));
  tree_.add("", {dir("a", {file("memory.high", "")})});
  ASSERT_TRUE(watcher_->add(*a));
  tree_.write("a/memory.high", "1\n");
  EXPECT_THAT(drained(), IsEmpty());
  tree_.write("moved/memory.high", "1\n");
  EXPECT_THAT(drained(), ElementsAre(Event{a->id(), Kind::modified, "memory.high"}));
}

TEST_F(WatchTest, AGoneCgroupEndsItsWatch) {
  auto c = find("c");
  const Id id = c->id();
  ASSERT_TRUE(watcher_->add(*c));
  c.reset();  // the held descriptor keeps the directory from going
  tree_.remove("c");
  EXPECT_THAT(drained(), ElementsAre(Event{id, Kind::gone, ""}));
  EXPECT_EQ(watcher_->size(), 0u);
  watcher_->remove(id);
}

TEST_F(WatchTest, ACallbackMayRemoveOtherWatches) {
  const auto a = find("a");
  const auto c = find("c");
  ASSERT_TRUE(watcher_->add(*a));
  ASSERT_TRUE(watcher_->add(*c));
  hook_ = [&](const Event&) { watcher_->remove(c->id()); };
  tree_.write("a/memory.high", "1\n");
  tree_.add("c", {dir("x")});
  EXPECT_THAT(drained(), ElementsAre(Event{a->id(), Kind::modified, "memory.high"}));
}

TEST_F(WatchTest, LostEventsAskForARescan) {
  ASSERT_TRUE(watcher_->add(*find("a")));
  // Two alternating names are never merged by the kernel: fs.inotify.max_queued_events is 16384 by default.
  int limit = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  ASSERT_GT(limit, 0);
  if (limit > 100'000) GTEST_SKIP() << "the queue is too long here to fill it";
  std::ofstream first(tree_.path("a/memory.high"));
  std::ofstream second(tree_.path("a/memory.min"));
  for (int i = 0; i <= limit / 2 + 1; ++i) {
    first << i << std::flush;
    second << i << std::flush;
  }
  drained();
  EXPECT_EQ(rescans_, 1);
  tree_.write("a/memory.high", "1\n");
  EXPECT_FALSE(drained().empty()) << "goes on";
  EXPECT_EQ(rescans_, 1);
}

TEST_F(WatchTest, AFailureToWatchIsAValue) {
  const auto c = find("c");
  const Cgroup notHeld("c", Fd(), c->id() + 1);
  EXPECT_EQ(watcher_->add(notHeld).error().code, Code::gone);
  EXPECT_EQ(watcher_->size(), 0u);
}

}  // namespace
}  // namespace memqos::cgroup
