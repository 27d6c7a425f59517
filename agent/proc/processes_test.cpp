#include "proc/processes.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "testing/fake_tree.h"

namespace memqos::proc {
namespace {

using testing::dir;
using testing::FakeTree;
using testing::file;
using testing::link;

constexpr const char* kHost = "pid:[4026531836]";

TEST(Processes, AreFoundByName) {
  const FakeTree proc{
      dir("1", {file("comm", "systemd\n"), dir("ns", {link("pid", kHost)})}),
      dir("77", {file("comm", "koordlet\n"), dir("ns", {link("pid", kHost)})}),
      dir("78", {file("comm", "koordlet2\n"), dir("ns", {link("pid", kHost)})}),
      dir("sys", {file("comm", "other\n")}),
      dir("79x", {file("comm", "kubelet\n")}),
      dir("80", {}),
      file("81", "not a folder"),
  };
  EXPECT_EQ(findHostProcess("koordlet", proc.path()).value(), 77);
  EXPECT_EQ(findHostProcess("koord", proc.path()).value(), std::nullopt);
  EXPECT_EQ(findHostProcess("kubelet", proc.path()).value(), std::nullopt) << "79x is no process";
  EXPECT_EQ(findHostProcess("other", proc.path()).value(), std::nullopt);
}

// Anybody may name a process in his pod as he likes.
TEST(Processes, OfAnotherPidNamespaceDoNotCount) {
  const FakeTree proc{
      dir("1", {file("comm", "systemd\n"), dir("ns", {link("pid", kHost)})}),
      dir("50", {file("comm", "koordlet\n"), dir("ns", {link("pid", "pid:[4026532999]")})}),
  };
  EXPECT_EQ(findHostProcess("koordlet", proc.path()).value(), std::nullopt);
}

TEST(Processes, WithoutNamespacesTheNameDecides) {
  const FakeTree proc{
      dir("1", {file("comm", "systemd\n")}),
      dir("50", {file("comm", "koordlet\n"), dir("ns", {link("pid", "pid:[4026532999]")})}),
  };
  EXPECT_EQ(findHostProcess("koordlet", proc.path()).value(), 50);
}

TEST(Processes, AMissingFolderIsAnError) {
  EXPECT_EQ(findHostProcess("koordlet", "/nowhere").error().code, Code::gone);
}

TEST(Processes, TheRealOneFindsUs) {
  std::string before(16, '\0');
  ASSERT_EQ(::prctl(PR_GET_NAME, before.data()), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, "mq-processes"), 0);
  const auto found = findHostProcess("mq-processes");
  ::prctl(PR_SET_NAME, before.data());
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(*found, ::getpid());
}

}  // namespace
}  // namespace memqos::proc
