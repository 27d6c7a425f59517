#include "control/writer.h"

#include "control/fake_watchdog.h"
#include "testing/fake_tree.h"

namespace memqos::control {
namespace {

using cgroup::File;
using testing::cgroupFiles;
using testing::dir;

// The real files of a fake tree, with calls that fail on demand as the kernel's would.
class FaultyFiles final : public Files {
 public:
  Result<Limit> read(const cgroup::Cgroup& cgroup, File file) override {
    if (readErrno != 0) return failErrno(readErrno, "cannot read", cgroup::name(file));
    return Files::read(cgroup, file);
  }
  Status write(const cgroup::Cgroup& cgroup, File file, Limit value) override {
    ++writes;
    if (writeErrno != 0) return failErrno(writeErrno, "cannot write", cgroup::name(file));
    return Files::write(cgroup, file, stored.value_or(value));
  }
  int readErrno = 0;
  int writeErrno = 0;
  std::optional<Limit> stored;  // what the kernel makes of any value
  int writes = 0;
};

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() {
    root_.emplace(*cgroup::Root::open(tree_.path("cgroup")));
    pod_ = *root_->find("pod");
    start();
  }
  void start() {
    auto files = std::make_unique<FaultyFiles>();
    files_ = files.get();
    auto watchdog = std::make_unique<FakeWatchdog>();
    watchdog_ = watchdog.get();
    auto journal = Journal::open(tree_.path("run"), "boot");
    ASSERT_TRUE(journal);
    writer_ = std::make_unique<Writer>(std::move(files), std::move(*journal), std::move(watchdog));
  }
  Applied write(File file, Limit value, bool keepsRoom = false) {
    return writer_->apply({{pod_, file, value, false, keepsRoom}}).at(0);
  }
  Applied restore(File file) { return writer_->apply({{pod_, file, {}, true, false}}).at(0); }
  std::string text(const std::string& file) { return tree_.read("cgroup/pod/" + file); }
  void foreign(const std::string& file, const std::string& value) { tree_.write("cgroup/pod/" + file, value + "\n"); }

  testing::FakeTree tree_{dir("cgroup", {dir("pod", {cgroupFiles({{"memory.current", "104857600"}})})}), dir("run")};
  std::optional<cgroup::Root> root_;
  cgroup::Handle pod_;
  std::unique_ptr<Writer> writer_;
  FaultyFiles* files_ = nullptr;
  FakeWatchdog* watchdog_ = nullptr;
};

TEST_F(WriterTest, WritesOnceAndReadsBack) {
  const Applied first = write(File::memoryMin, mebibytes(32));
  EXPECT_EQ(first.outcome, Outcome::written);
  EXPECT_EQ(first.before, Limit(Bytes{0}));
  EXPECT_EQ(first.after, Limit(mebibytes(32)));
  EXPECT_EQ(first.baseline, Limit(Bytes{0}));
  EXPECT_FALSE(first.foreign);
  EXPECT_EQ(write(File::memoryMin, mebibytes(32)).outcome, Outcome::same);
  EXPECT_EQ(files_->writes, 1);
}

TEST_F(WriterTest, RestoresTheValueFoundAtFirst) {
  foreign("memory.swap.max", "8192");
  write(File::swapMax, Limit(Bytes{4096}));
  write(File::swapMax, Limit(Bytes{0}));
  const Applied back = restore(File::swapMax);
  EXPECT_EQ(back.outcome, Outcome::written);
  EXPECT_EQ(back.after, Limit(Bytes{8192}));
  EXPECT_TRUE(writer_->journal().entries().empty());
  EXPECT_EQ(restore(File::swapMax).outcome, Outcome::same);
}

TEST_F(WriterTest, AForeignWriteIsTheNewBaseline) {
  write(File::memoryLow, mebibytes(16));
  foreign("memory.low", "4096");
  const Applied seen = writer_->look(pod_, File::memoryLow);
  EXPECT_TRUE(seen.foreign);
  EXPECT_EQ(seen.baseline, Limit(Bytes{4096}));
  EXPECT_FALSE(writer_->look(pod_, File::memoryLow).foreign);
  EXPECT_EQ(write(File::memoryLow, mebibytes(16)).outcome, Outcome::written);
  EXPECT_EQ(restore(File::memoryLow).after, Limit(Bytes{4096}));
}

TEST_F(WriterTest, RestoreLeavesWhatIsNotOurs) {
  write(File::memoryLow, mebibytes(16));
  foreign("memory.low", "4096");
  const Applied left = restore(File::memoryLow);
  EXPECT_EQ(left.outcome, Outcome::leftAlone);
  EXPECT_EQ(text("memory.low"), "4096\n");
  EXPECT_TRUE(writer_->journal().entries().empty());
}

// A crash may come before or after the write that the journal announced; both values are ours then.
TEST_F(WriterTest, AnEarlierRunIsAdopted) {
  write(File::memoryMin, mebibytes(8));
  write(File::memoryMin, mebibytes(16));
  for (const char* left : {"8388608", "16777216"}) {
    foreign("memory.min", left);
    start();
    EXPECT_FALSE(writer_->look(pod_, File::memoryMin).foreign) << left;
    EXPECT_EQ(writer_->look(pod_, File::memoryMin).baseline, Limit(Bytes{0}));
  }
  EXPECT_EQ(restore(File::memoryMin).after, Limit(Bytes{0}));
}

TEST_F(WriterTest, AnAdoptedFileThatSomebodyChangedKeepsTheirValue) {
  write(File::memoryMin, mebibytes(8));
  foreign("memory.min", "4096");
  start();
  EXPECT_EQ(restore(File::memoryMin).outcome, Outcome::leftAlone);
  EXPECT_EQ(text("memory.min"), "4096\n");
}

TEST_F(WriterTest, HighKeepsRoomForTheLiving) {
  EXPECT_EQ(write(File::memoryHigh, mebibytes(107), true).outcome, Outcome::tooClose);
  EXPECT_EQ(files_->writes, 0);
  EXPECT_EQ(write(File::memoryHigh, mebibytes(108), true).outcome, Outcome::written);
}

TEST_F(WriterTest, HighIsToldToTheWatchdogFirst) {
  write(File::memoryHigh, mebibytes(200));
  ASSERT_TRUE(watchdog_->held.contains({pod_->id(), File::memoryHigh}));
  EXPECT_EQ(watchdog_->held.at({pod_->id(), File::memoryHigh}).ours, Limit(mebibytes(200)));
  EXPECT_TRUE(watchdog_->held.at({pod_->id(), File::memoryHigh}).restore.isMax());
  restore(File::memoryHigh);
  EXPECT_TRUE(watchdog_->held.empty());
  write(File::memoryMin, mebibytes(1));
  EXPECT_TRUE(watchdog_->held.empty());
}

TEST_F(WriterTest, NoWatchdogNoHigh) {
  watchdog_->alive = false;
  EXPECT_EQ(write(File::memoryHigh, mebibytes(200)).outcome, Outcome::unwatched);
  EXPECT_EQ(text("memory.high"), "max\n");
  EXPECT_TRUE(writer_->journal().entries().empty());
}

// oomd's senpai can set a limit below memory.min and can block; here the kernel's answer decides and is reported.
TEST_F(WriterTest, EachErrnoHasItsOutcome) {
  struct Row {
    int error;
    Outcome outcome;
  };
  for (const Row& row : {Row{ENODEV, Outcome::gone}, Row{EOPNOTSUPP, Outcome::unsupported},
                         Row{EACCES, Outcome::failed}, Row{EIO, Outcome::failed}, Row{EINTR, Outcome::failed}}) {
    files_->writeErrno = row.error;
    EXPECT_EQ(write(File::memoryMin, mebibytes(32)).outcome, row.outcome) << row.error;
  }
  files_->writeErrno = 0;
  files_->readErrno = ENODEV;
  EXPECT_EQ(write(File::memoryMin, mebibytes(32)).outcome, Outcome::gone);
}

TEST_F(WriterTest, AMissingFileIsAKernelWithoutIt) {
  tree_.remove("cgroup/pod/memory.zswap.max");
  EXPECT_EQ(write(File::zswapMax, mebibytes(1)).outcome, Outcome::unsupported);
}

TEST_F(WriterTest, ARemovedCgroupIsGoneAndForgotten) {
  write(File::memoryMin, mebibytes(32));
  tree_.remove("cgroup/pod");
  EXPECT_EQ(write(File::memoryMin, mebibytes(64)).outcome, Outcome::gone);
  EXPECT_TRUE(writer_->journal().entries().empty());
}

// cri-o#9816: a write that is accepted and then ignored must be noticed.
TEST_F(WriterTest, ReadBackMismatchIsReported) {
  files_->stored = Limit();
  const Applied ignored = write(File::memoryMin, mebibytes(32));
  EXPECT_EQ(ignored.outcome, Outcome::mismatch);
  EXPECT_EQ(ignored.after, Limit());
  EXPECT_EQ(ignored.error, "the kernel keeps 0");
  EXPECT_FALSE(ignored.foreign);
  files_->stored = Limit(Bytes{8192});  // whole pages
  const Applied rounded = write(File::memoryMin, Bytes{8193});
  EXPECT_EQ(rounded.outcome, Outcome::mismatch);
  EXPECT_EQ(rounded.baseline, Limit());
}

TEST_F(WriterTest, AWriteBetweenOursAndTheReadIsSomebodyElses) {
  files_->stored = Limit(mebibytes(64));
  const Applied applied = write(File::memoryMin, mebibytes(32));
  EXPECT_EQ(applied.outcome, Outcome::written);
  EXPECT_TRUE(applied.foreign);
  EXPECT_EQ(applied.after, Limit(mebibytes(64)));
  EXPECT_EQ(applied.baseline, Limit(mebibytes(64)));
  files_->stored.reset();
  const Applied repaired = write(File::memoryMin, mebibytes(32));
  EXPECT_FALSE(repaired.foreign);
  EXPECT_EQ(repaired.baseline, Limit(mebibytes(64)));
  EXPECT_EQ(restore(File::memoryMin).after, Limit(mebibytes(64)));
}

TEST_F(WriterTest, NoJournalNoWrite) {
  tree_.remove("run");
  // The journal is rewritten, and so reopened, after many records: fill it up to that.
  Outcome last = Outcome::written;
  for (int i = 1; i < 10'000 && last == Outcome::written; ++i) last = write(File::memoryMin, Bytes{4096LL * i}).outcome;
  EXPECT_EQ(last, Outcome::unjournaled);
  const int writes = files_->writes;
  EXPECT_EQ(write(File::memoryLow, mebibytes(1)).outcome, Outcome::unjournaled);
  EXPECT_EQ(files_->writes, writes);
}

TEST_F(WriterTest, OneFailureDoesNotStopTheRest) {
  tree_.remove("cgroup/pod/memory.zswap.max");
  const auto out = writer_->apply(
      {{pod_, File::zswapMax, mebibytes(1), false, false}, {pod_, File::oomGroup, Limit(Bytes{1}), false, false}});
  EXPECT_EQ(out.at(0).outcome, Outcome::unsupported);
  EXPECT_EQ(out.at(1).outcome, Outcome::written);
}

TEST_F(WriterTest, AHeldValueIsLeftToTheWatchdogWithItsPlainValue) {
  const Key key{pod_->id(), File::memoryMin};
  Change change{pod_, File::memoryMin, mebibytes(96), false, false, true, Limit(mebibytes(32))};
  EXPECT_EQ(writer_->apply({change}).at(0).outcome, Outcome::written);
  ASSERT_TRUE(watchdog_->held.contains(key));
  EXPECT_EQ(watchdog_->held.at(key).restore, Limit(mebibytes(32)));
  // The plain value changes: told again, not written again.
  change.plain = Limit(mebibytes(16));
  EXPECT_EQ(writer_->apply({change}).at(0).outcome, Outcome::same);
  EXPECT_EQ(watchdog_->held.at(key).restore, Limit(mebibytes(16)));
  // Let go: the plain value is written and the watchdog released.
  EXPECT_EQ(write(File::memoryMin, mebibytes(16)).outcome, Outcome::written);
  EXPECT_TRUE(watchdog_->held.empty());
  EXPECT_EQ(restore(File::memoryMin).after, Limit(Bytes{0}));
}

// The agent died and its watchdog put the plain value back: that is ours, not somebody else's.
TEST_F(WriterTest, WhatTheWatchdogPutBackIsAdopted) {
  writer_->apply({{pod_, File::memoryMin, mebibytes(96), false, false, true, Limit(mebibytes(32))}});
  foreign("memory.min", "33554432");
  start();
  const Applied seen = writer_->look(pod_, File::memoryMin);
  EXPECT_FALSE(seen.foreign);
  EXPECT_EQ(seen.baseline, Limit(Bytes{0}));
  EXPECT_EQ(restore(File::memoryMin).after, Limit(Bytes{0}));
}

// However many writes fail after it, the value that is in the file stays known as ours to whoever puts it back.
TEST_F(WriterTest, WritesThatFailDoNotMakeAnOlderValueForeign) {
  write(File::memoryHigh, mebibytes(300));
  for (const int error : {EMFILE, EIO}) {
    files_->writeErrno = error;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(write(File::memoryHigh, mebibytes(200 + i)).outcome, Outcome::failed);
  }
  const auto& held = watchdog_->held.at({pod_->id(), File::memoryHigh});
  EXPECT_EQ(held.previous, Limit(mebibytes(300)));
  EXPECT_EQ(held.ours, Limit(mebibytes(207)));
  start();
  EXPECT_FALSE(writer_->look(pod_, File::memoryHigh).foreign);
  EXPECT_TRUE(restore(File::memoryHigh).after->isMax());
}

TEST_F(WriterTest, WritesWithoutAJournalDoNotMakeTheWatchdogForget) {
  write(File::memoryHigh, mebibytes(300));
  tree_.remove("run");
  Outcome last = Outcome::written;
  for (int i = 1; i < 10'000 && last == Outcome::written; ++i) last = write(File::memoryLow, Bytes{4096LL * i}).outcome;
  ASSERT_EQ(last, Outcome::unjournaled);
  for (int i = 0; i < 4; ++i) write(File::memoryHigh, mebibytes(200 + i));
  const auto& held = watchdog_->held.at({pod_->id(), File::memoryHigh});
  EXPECT_TRUE(held.ours == Limit(mebibytes(300)) || held.previous == Limit(mebibytes(300)));
}

TEST_F(WriterTest, WhatAnEarlierRunLeftIsToldToThisRunsWatchdog) {
  write(File::memoryHigh, mebibytes(200));
  start();
  EXPECT_EQ(write(File::memoryHigh, mebibytes(200)).outcome, Outcome::same);
  EXPECT_TRUE(watchdog_->held.contains({pod_->id(), File::memoryHigh}));
}

}  // namespace
}  // namespace memqos::control
