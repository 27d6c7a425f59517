#include "control/journal.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace memqos::control {
namespace {

const Key kHigh{42, cgroup::File::memoryHigh};
const Key kMin{42, cgroup::File::memoryMin};

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string pattern = ::testing::TempDir() + "/journalXXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~JournalTest() override { std::filesystem::remove_all(dir_); }
  std::unique_ptr<Journal> open(const std::string& boot = "boot-1") {
    auto journal = Journal::open(dir_, boot);
    EXPECT_TRUE(journal) << journal.error().text();
    return std::move(*journal);
  }
  void put(const std::string& text) { std::ofstream(dir_ + "/journal") << text; }
  std::string dir_;
};

TEST_F(JournalTest, SurvivesReopening) {
  {
    auto journal = open();
    ASSERT_TRUE(journal->recordWrite(kHigh, "a b/c\n%", Limit::max(), Limit(mebibytes(64))));
    ASSERT_TRUE(journal->recordWrite(kHigh, "a b/c\n%", Limit::max(), Limit(mebibytes(128))));
    ASSERT_TRUE(journal->recordWrite(kMin, "", Limit(Bytes{0}), Limit(mebibytes(8))));
  }
  auto journal = open();
  const JournalEntries expected = {{kHigh, {"a b/c\n%", Limit::max(), {Limit(mebibytes(64)), Limit(mebibytes(128))}}},
                                   {kMin, {"", Limit(Bytes{0}), {Limit(mebibytes(8))}}}};
  EXPECT_EQ(journal->entries(), expected);
  ASSERT_TRUE(journal->recordDone(kHigh));
  EXPECT_EQ(open()->entries().size(), 1U);
}

TEST_F(JournalTest, KeepsTheLastThreeOfOursOnly) {
  auto journal = open();
  for (const int mib : {1, 2, 3, 4, 3})
    ASSERT_TRUE(journal->recordWrite(kMin, "x", Limit(Bytes{0}), Limit(mebibytes(mib))));
  EXPECT_EQ(open()->entries().at(kMin).ours,
            (std::vector<Limit>{Limit(mebibytes(2)), Limit(mebibytes(4)), Limit(mebibytes(3))}));
}

TEST_F(JournalTest, AnotherBootIsEmpty) {
  ASSERT_TRUE(open()->recordWrite(kMin, "x", Limit(Bytes{0}), Limit(kMiB)));
  EXPECT_TRUE(open("boot-2")->entries().empty());
}

TEST_F(JournalTest, ATornLastLineIsDropped) {
  put("memqos-journal 1 boot-1\nwrite 42 memory.min 0 4096 x\nwrite 42 memory.high max 40");
  EXPECT_EQ(open()->entries().size(), 1U);
  put("memqos-jour");
  EXPECT_TRUE(open()->entries().empty());
}

TEST_F(JournalTest, AnUnreadableOneIsKeptAside) {
  for (const std::string bad :
       {"write 42 memory.min 0 4096\n", "write x memory.min 0 4096 x\n", "write 42 memory.foo 0 4096 x\n",
        "write 42 memory.min 0 4096 %zz\n", "done 42\n", "hello\n"}) {
    put("memqos-journal 1 boot-1\n" + bad);
    auto journal = open();
    EXPECT_TRUE(journal->entries().empty());
    EXPECT_NE(journal->note().find("line 2"), std::string::npos) << bad;
    EXPECT_TRUE(std::filesystem::exists(dir_ + "/journal.bad"));
  }
}

TEST_F(JournalTest, IsPrivate) {
  open();
  struct stat info {};
  ASSERT_EQ(::stat((dir_ + "/journal").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// A file size limit does what a full disk does: the append is short, then refused.
TEST_F(JournalTest, AFullDiskIsAnErrorAndTearsNoLine) {
  auto journal = open();
  ASSERT_TRUE(journal->recordWrite(kMin, "x", Limit(Bytes{0}), Limit(kMiB)));
  const auto size = std::filesystem::file_size(dir_ + "/journal");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = size + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status refused = journal->recordWrite(kHigh, "x", Limit::max(), Limit(mebibytes(64)));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(std::filesystem::file_size(dir_ + "/journal"), size);
  EXPECT_FALSE(journal->entries().contains(kHigh));
  ASSERT_TRUE(journal->recordWrite(kHigh, "x", Limit::max(), Limit(mebibytes(64))));
  EXPECT_EQ(open()->entries().size(), 2U);
}

TEST_F(JournalTest, GrowthIsBounded) {
  auto journal = open();
  for (int i = 0; i < 9'500; ++i) ASSERT_TRUE(journal->recordWrite(kMin, "x", Limit(Bytes{0}), Limit(Bytes{i * 4096})));
  EXPECT_LT(std::filesystem::file_size(dir_ + "/journal"), 512U * 1024);
  EXPECT_EQ(open()->entries().at(kMin).ours.back(), Limit(Bytes{9'499LL * 4096}));
}

}  // namespace
}  // namespace memqos::control
