#include "control/restore.h"

#include "control/fake_watchdog.h"
#include "control/lock.h"
#include "testing/fake_tree.h"

namespace memqos::control {
namespace {

using cgroup::File;
using testing::cgroupFiles;
using testing::dir;

class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest() : root_(*cgroup::Root::open(tree_.path("cgroup"))) {}
  void agentWrites() {
    Writer writer(std::make_unique<Files>(), std::move(*Journal::open(tree_.path("run"), "boot")),
                  std::make_unique<FakeWatchdog>());
    writer.apply({{*root_.find("a"), File::memoryMin, mebibytes(8), false, false},
                  {*root_.find("a/b"), File::memoryMin, mebibytes(8), false, false},
                  {*root_.find("a/b"), File::oomGroup, Limit(Bytes{1}), false, false}});
  }
  std::map<std::string, std::string> restore() {
    std::map<std::string, std::string> out;
    const auto rows = restoreOffline(tree_.path("run"), root_, "boot");
    EXPECT_TRUE(rows) << rows.error().text();
    for (const auto& row : *rows) out[row.file] = row.result;
    return out;
  }
  testing::FakeTree tree_{dir("cgroup", {dir("a", {cgroupFiles(), dir("b", {cgroupFiles()})})}), dir("run")};
  cgroup::Root root_;
};

TEST_F(RestoreTest, PutsEveryFileBackAndForgets) {
  agentWrites();
  const std::map<std::string, std::string> expected = {
      {"a/memory.min", "restored"}, {"a/b/memory.min", "restored"}, {"a/b/memory.oom.group", "restored"}};
  EXPECT_EQ(restore(), expected);
  EXPECT_EQ(tree_.read("cgroup/a/memory.min"), "0");
  EXPECT_EQ(tree_.read("cgroup/a/b/memory.oom.group"), "0");
  EXPECT_TRUE(restore().empty());
}

TEST_F(RestoreTest, SaysWhatItFound) {
  agentWrites();
  tree_.write("cgroup/a/memory.min", "4096\n");
  const auto old = root_.find("a/b");  // held open, so that the file system cannot use its inode again
  tree_.remove("cgroup/a/b");
  tree_.add("cgroup/a", {dir("b", {cgroupFiles({{"memory.min", "8388608"}})})});  // the same path, another cgroup
  const std::map<std::string, std::string> expected = {
      {"a/memory.min", "foreign"}, {"a/b/memory.min", "gone"}, {"a/b/memory.oom.group", "gone"}};
  EXPECT_EQ(restore(), expected);
  EXPECT_EQ(tree_.read("cgroup/a/memory.min"), "4096\n");
  EXPECT_EQ(tree_.read("cgroup/a/b/memory.min"), "8388608\n");
}

TEST_F(RestoreTest, AnotherBootHasNothingToRestore) {
  agentWrites();
  const auto rows = restoreOffline(tree_.path("run"), root_, "later");
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->empty());
}

}  // namespace
}  // namespace memqos::control
