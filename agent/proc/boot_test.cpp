#include "proc/boot.h"

#include <gtest/gtest.h>

#include "testing/fake_tree.h"

namespace memqos::proc {
namespace {

using testing::dir;
using testing::FakeTree;
using testing::file;

Result<std::string> withText(const std::string& text) {
  const FakeTree proc{dir("sys", {dir("kernel", {dir("random", {file("boot_id", text)})})})};
  return bootId(proc.path());
}

TEST(BootId, IsAUuidWithoutNewline) {
  EXPECT_EQ(withText("8c7a1f0e-4d0e-4c5b-9d8e-0c9a5e3f6b21\n").value(), "8c7a1f0e-4d0e-4c5b-9d8e-0c9a5e3f6b21");
  EXPECT_EQ(withText("").error().code, Code::invalid);
  EXPECT_EQ(withText("8c7a1f0e-4d0e-4c5b-9d8e-0c9a5e3f6b2X\n").error().code, Code::invalid);
  EXPECT_EQ(bootId("/nowhere").error().code, Code::gone);
}

TEST(BootId, TheRealOneStaysTheSame) {
  EXPECT_EQ(bootId().value(), bootId().value());
}

}  // namespace
}  // namespace memqos::proc
