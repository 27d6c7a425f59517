// What the kernel tells a watch on a real cgroup.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "cgroup/watch.h"
#include "loop/fake_loop.h"
#include "testing/scoped_cgroup.h"
#include "testing/workload.h"

namespace memqos::cgroup {

void PrintTo(const Event& event, std::ostream* out) {
  *out << event.cgroup << " kind " << static_cast<int>(event.kind) << " '" << event.name << "'";
}

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ScopedCgroup;
using Kind = Event::Kind;

class WatchKernel : public ::testing::Test {
 protected:
  WatchKernel() {
    watcher_ =
        DirectoryWatcher::create(loop_, {[this](const Event& event) { events_.push_back(event); }, [] {}}).value();
  }
  std::vector<Event> drained() {
    events_.clear();
    watcher_->drain();
    return events_;
  }
  loop::FakeLoop loop_;
  std::unique_ptr<DirectoryWatcher> watcher_;
  std::vector<Event> events_;
};

TEST_F(WatchKernel, AWriteOfUserSpaceIsAnEventPerFile) {
  const ScopedCgroup scoped("w-write");
  const auto cgroup = scoped.handle();
  ASSERT_TRUE(watcher_->add(*cgroup));
  scoped.write("memory.high", "67108864");
  scoped.write("memory.min", "0");
  EXPECT_THAT(drained(), ElementsAre(Event{cgroup->id(), Kind::modified, "memory.high"},
                                     Event{cgroup->id(), Kind::modified, "memory.min"}));
  ASSERT_TRUE(cgroup->write("memory.high", "max"));
  EXPECT_THAT(drained(), ElementsAre(Event{cgroup->id(), Kind::modified, "memory.high"}))
      << "our own writes too, once each";
  EXPECT_TRUE(cgroup->read("memory.high"));
  EXPECT_THAT(drained(), IsEmpty());
}

TEST_F(WatchKernel, ChildrenComeAndGo) {
  const ScopedCgroup parent("w-parent");
  const auto cgroup = parent.handle();
  ASSERT_TRUE(watcher_->add(*cgroup));
  ASSERT_EQ(::mkdir(parent.file("child").c_str(), 0755), 0);
  EXPECT_THAT(drained(), ElementsAre(Event{cgroup->id(), Kind::created, "child"}));
  ASSERT_EQ(::rmdir(parent.file("child").c_str()), 0);
  EXPECT_THAT(drained(), ElementsAre(Event{cgroup->id(), Kind::removed, "child"}));
}

TEST_F(WatchKernel, WhatTheKernelChangesIsSeenWhileTheFileIsHeldOpen) {
  const ScopedCgroup scoped("w-events");
  const auto cgroup = scoped.handle();
  ASSERT_TRUE(watcher_->add(*cgroup));
  const auto held = cgroup->open("cgroup.events", O_RDONLY);
  ASSERT_TRUE(held);
  auto process = testing::Workload::anonymous(scoped, mebibytes(1));
  ASSERT_TRUE(process.waitReady());
  EXPECT_TRUE(testing::waitUntil([&] {
    const auto events = drained();
    return std::find(events.begin(), events.end(), Event{cgroup->id(), Kind::modified, "cgroup.events"}) !=
           events.end();
  }));
}

TEST_F(WatchKernel, ARemovalIsToldByTheParent) {
  const ScopedCgroup parent("w-gone");
  ScopedCgroup child("w-gone/child");
  const auto top = parent.handle();
  auto held = child.handle();
  const Id id = held->id();
  ASSERT_TRUE(watcher_->add(*top));
  ASSERT_TRUE(watcher_->add(*held));
  ASSERT_TRUE(child.remove());
  auto events = drained();
  EXPECT_THAT(events, Contains(Event{top->id(), Kind::removed, "child"}));
  EXPECT_FALSE(held->alive());
  EXPECT_THAT(events, ::testing::Not(Contains(Event{id, Kind::gone, ""})));
  // Not even once the last descriptor is closed: the watch itself keeps the inode.
  held.reset();
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_EQ(watcher_->size(), 2u);
  watcher_->remove(id);
  EXPECT_EQ(watcher_->size(), 1u);
}

}  // namespace
}  // namespace memqos::cgroup
