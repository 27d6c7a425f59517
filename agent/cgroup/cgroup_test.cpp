#include "cgroup/cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "testing/fake_tree.h"

namespace memqos::cgroup {
namespace {

using testing::cgroupFiles;
using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using testing::file;
using ::testing::IsEmpty;
using testing::link;

TEST(RootTest, OpensAFolderAndDropsTrailingSlashes) {
  const FakeTree tree{file("plain", "")};
  const auto root = Root::open(tree.path() + "//");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->path(), tree.path());
  EXPECT_EQ(Root::open(tree.path("none")).error().code, Code::gone);
  EXPECT_EQ(Root::open(tree.path("plain")).error().code, Code::invalid);
}

TEST(RootTest, FindsCgroupsByPathAndKnowsThemByInode) {
  const FakeTree tree{dir("a", {dir("b")})};
  const auto root = Root::open(tree.path()).value();
  const auto found = root.find("a/b");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->path(), "a/b");
  struct stat info {};
  ASSERT_EQ(::stat(tree.path("a/b").c_str(), &info), 0);
  EXPECT_EQ((*found)->id(), info.st_ino);
  EXPECT_EQ(root.find("").value()->path(), "");
  EXPECT_EQ(root.find("a/c").error().code, Code::gone);
}

TEST(RootTest, RefusesEveryWayOut) {
  const FakeTree outside{dir("target")};
  const FakeTree tree{dir("a", {dir("b"), file("plain", ""), link("up", ".."), link("out", outside.path())}),
                      link("inside", "a")};
  const auto root = Root::open(tree.path()).value();
  for (const std::string path : {"..", "a/..", "a/../a", "a/./b", ".", "a/up", "a/out/target", "inside", "inside/b",
                                 "a//b", "a/", "/", "/a", "a/plain"}) {
    const auto found = root.find(path);
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().code, Code::invalid) << path;
  }
  EXPECT_EQ(root.find(std::string("a\0b", 3)).error().code, Code::invalid);
  EXPECT_EQ(root.find("inside").error().sysErrno, ELOOP);
  EXPECT_EQ(root.find("/a").error().sysErrno, EXDEV);
  EXPECT_EQ(root.find("a/plain").error().sysErrno, ENOTDIR);
}

TEST(CgroupTest, ReadsAndWritesItsFiles) {
  const FakeTree tree{dir("a", {cgroupFiles({{"memory.min", "1048576"}})})};
  const auto cgroup = Root::open(tree.path()).value().find("a").value();
  EXPECT_EQ(cgroup->read("memory.min").value(), "1048576\n");
  EXPECT_EQ(cgroup->readLimit("memory.min").value(), Limit(kMiB));
  EXPECT_TRUE(cgroup->readLimit("memory.high").value().isMax());
  ASSERT_TRUE(cgroup->write("memory.min", "7"));
  EXPECT_EQ(tree.read("a/memory.min"), "7") << "a shorter value replaces all of a longer one";
}

TEST(CgroupTest, SaysWhichFileFailedAndWhy) {
  const FakeTree tree{dir("a", {file("junk", "abc\n"), link("memory.min", "junk")})};
  const auto cgroup = Root::open(tree.path()).value().find("a").value();
  const auto missing = cgroup->read("memory.low");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::gone);
  EXPECT_EQ(missing.error().path, "a/memory.low");
  EXPECT_EQ(cgroup->write("memory.low", "1").error().code, Code::gone);
  EXPECT_FALSE(std::filesystem::exists(tree.path("a/memory.low"))) << "never created";
  EXPECT_EQ(cgroup->readLimit("junk").error().code, Code::invalid);
  EXPECT_EQ(cgroup->readLimit("junk").error().path, "a/junk");
  EXPECT_EQ(cgroup->write("memory.min", "1").error().sysErrno, ELOOP);
  EXPECT_EQ(tree.read("a/junk"), "abc\n");
  EXPECT_TRUE(cgroup->exists("junk"));
  EXPECT_FALSE(cgroup->exists("memory.low"));
}

TEST(CgroupTest, StaysTheSameCgroupWhenItsNameIsReused) {
  FakeTree tree{dir("a", {file("memory.min", "1\n")})};
  const auto root = Root::open(tree.path()).value();
  const auto old = root.find("a").value();
  EXPECT_TRUE(old->alive());
  tree.remove("a");
  EXPECT_FALSE(old->alive());
  tree.add("", {dir("a", {file("memory.min", "2\n")})});
  EXPECT_FALSE(old->alive());
  EXPECT_EQ(old->read("memory.min").error().code, Code::gone);
  EXPECT_NE(root.find("a").value()->id(), old->id());
}

// oomd#83: a pattern for cgroups matched files too.
TEST(CgroupTest, ListsChildrenOnly) {
  const FakeTree tree{dir("b"), dir("a", {dir("x")}), file("memory.min", ""), link("l", "a")};
  const auto root = Root::open(tree.path()).value();
  const auto top = root.find("").value();
  EXPECT_THAT(top->children().value(), ElementsAre("a", "b"));
  EXPECT_THAT(top->children().value(), ElementsAre("a", "b")) << "again from the start";
  EXPECT_THAT(root.find("b").value()->children().value(), IsEmpty());
}

TEST(CgroupTest, GivesADescriptorToKeep) {
  const FakeTree tree{dir("a", {file("cgroup.events", "populated 1\n")})};
  const auto cgroup = Root::open(tree.path()).value().find("a").value();
  const auto fd = cgroup->open("cgroup.events", O_RDONLY);
  ASSERT_TRUE(fd);
  EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(cgroup->open("none", O_RDONLY).error().code, Code::gone);
}

}  // namespace
}  // namespace memqos::cgroup
