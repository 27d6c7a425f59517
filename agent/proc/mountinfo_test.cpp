#include "proc/mountinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_tree.h"

namespace memqos::proc {
namespace {

using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using testing::file;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Mountinfo, ReadsEveryField) {
  const auto table = parseMountinfo(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
      "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot");
  ASSERT_THAT(table.mounts, SizeIs(2));
  EXPECT_EQ(table.malformed, 0);
  EXPECT_EQ(
      table.mounts[0],
      (Mount{36, 35, 98, 0, "/mnt1", "/mnt2", {"rw", "noatime"}, "ext3", "/dev/root", {"rw", "errors=continue"}}));
  EXPECT_EQ(table.mounts[1].type, "cgroup2");
  EXPECT_TRUE(table.mounts[1].hasSuperOption("memory_recursiveprot"));
  EXPECT_FALSE(table.mounts[1].hasSuperOption("memory"));
}

TEST(Mountinfo, DecodesOctalEscapesAndNothingElse) {
  const auto table = parseMountinfo("1 0 0:1 /a\\040b /c\\134d\\011e\\012f\\999\\777\\04 rw - tmpfs \\040 rw\n");
  ASSERT_THAT(table.mounts, SizeIs(1));
  EXPECT_EQ(table.mounts[0].root, "/a b");
  EXPECT_EQ(table.mounts[0].point, "/c\\d\te\nf\\999\\777\\04");
  EXPECT_EQ(table.mounts[0].source, " ");
}

TEST(Mountinfo, ASourceThatLooksLikeTheSeparatorOrIsEmptyDoesNotConfuse) {
  const auto table = parseMountinfo(
      "1 0 0:1 / /a rw - tmpfs - rw\n"
      "2 0 0:1 / /b rw - tmpfs  rw\n"
      "3 0 0:1 - /c rw - tmpfs none rw,a\n");
  ASSERT_THAT(table.mounts, SizeIs(3));
  EXPECT_EQ(table.mounts[0].source, "-");
  EXPECT_EQ(table.mounts[1].source, "");
  EXPECT_THAT(table.mounts[1].superOptions, ElementsAre("rw"));
  EXPECT_EQ(table.mounts[2].root, "-");
}

TEST(Mountinfo, HostileLinesAreLeftOutAndCounted) {
  for (const std::string bad :
       {"junk", "1 2", "1 2 3:4 / /a rw", "1 2 3:4 / /a rw - tmpfs", "x 2 3:4 / /a rw - tmpfs s rw",
        "1 2 34 / /a rw - tmpfs s rw", "1 2 3:x / /a rw - tmpfs s rw", "1 2 3:4 / relative rw - tmpfs s rw",
        "99999999999999999999 2 3:4 / /a rw - tmpfs s rw", "1 2 3:4 / /a rw -  s rw", " ", "- - - - - - -"}) {
    const auto table = parseMountinfo(bad + "\n5 1 0:9 / /ok rw - tmpfs s rw\n");
    EXPECT_EQ(table.malformed, 1) << bad;
    ASSERT_THAT(table.mounts, SizeIs(1)) << bad;
    EXPECT_EQ(table.mounts[0].point, "/ok");
  }
  EXPECT_THAT(parseMountinfo("").mounts, IsEmpty());
}

TEST(Mountinfo, ReadsBelowAnInjectedRoot) {
  const FakeTree proc{dir("self", {file("mountinfo", "1 0 0:1 / /a rw - tmpfs s rw\n")})};
  EXPECT_THAT(readMountinfo(proc.path()).value().mounts, SizeIs(1));
  EXPECT_EQ(readMountinfo(proc.path(), "17").error().code, Code::gone);
}

TEST(Mountinfo, KnowsWhichMountAPathLeadsTo) {
  const auto table = readMountinfo("/proc");
  ASSERT_TRUE(table);
  const auto proc = std::find_if(table->mounts.rbegin(), table->mounts.rend(),
                                 [](const Mount& mount) { return mount.point == "/proc"; });
  ASSERT_NE(proc, table->mounts.rend());
  EXPECT_TRUE(isReachable(*proc));
  Mount covered = *proc;
  covered.id += 100'000;
  covered.minor += 100'000;
  EXPECT_FALSE(isReachable(covered));
  covered.point = "/no/such/place";
  EXPECT_FALSE(isReachable(covered));
}

}  // namespace
}  // namespace memqos::proc
