#include "testing/syscall_killer.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace memqos::testing {
namespace {

class SyscallKillerTest : public ::testing::Test {
 protected:
  SyscallKillerTest() {
    std::string pattern = "/tmp/killerXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SyscallKillerTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string text(const char* name) const {
    std::ifstream file(folder_ + "/" + name);
    if (!file) return "none";
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
  }
  // Opens, writes, opens, writes.
  [[nodiscard]] std::vector<std::string> twoFiles() const {
    return {"/bin/sh", "-c", "echo 1 > " + folder_ + "/a; echo said; echo 2 > " + folder_ + "/b"};
  }
  std::string folder_;
};

TEST_F(SyscallKillerTest, TheNthCallDoesNotTakePlaceAndAllBeforeItDo) {
  struct Step {
    const char* a;
    const char* b;
    const char* call;
  };
  const Step steps[] = {
      {"none", "none", "open "}, {"", "none", "write "}, {"1\n", "none", "open "}, {"1\n", "", "write "}};
  int nth = 0;
  for (const Step& step : steps) {
    std::filesystem::remove(folder_ + "/a");
    std::filesystem::remove(folder_ + "/b");
    SyscallKiller killer(twoFiles(), folder_ + "/out", ++nth);
    EXPECT_EQ(killer.wait(), 128 + 9);
    EXPECT_TRUE(killer.killedByCount()) << nth;
    EXPECT_EQ(text("a"), step.a) << nth;
    EXPECT_EQ(text("b"), step.b) << nth;
    EXPECT_TRUE(killer.lastCall().starts_with(step.call)) << killer.lastCall();
  }
  SyscallKiller killer(twoFiles(), folder_ + "/out", ++nth);
  EXPECT_EQ(killer.wait(), 0);
  EXPECT_FALSE(killer.killedByCount());
  EXPECT_TRUE(killer.ended());
  EXPECT_EQ(text("b"), "2\n");
}

TEST_F(SyscallKillerTest, KillsAtOnceOnRequest) {
  SyscallKiller killer({"/bin/sh", "-c", "read never < /dev/zero"}, folder_ + "/out");
  killer.kill();
  EXPECT_TRUE(killer.ended());
  EXPECT_EQ(killer.wait(), 128 + 9);
  EXPECT_FALSE(killer.killedByCount());
}

}  // namespace
}  // namespace memqos::testing
