#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace memqos {
namespace {

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "memqos-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(FileTest, ReadsTheWholeFileUpToTheCap) {
  const std::string big(100'000, 'x');
  EXPECT_EQ(readFile(put("big", big), big.size()).value(), big);
  EXPECT_EQ(readFile(put("empty", ""), 0).value(), "");
  EXPECT_EQ(readFile(put("binary", std::string("a\0b", 3)), 3).value(), std::string("a\0b", 3));
  const auto tooLarge = readFile(put("big", big), big.size() - 1);
  ASSERT_FALSE(tooLarge);
  EXPECT_EQ(tooLarge.error().code, Code::invalid);
  EXPECT_EQ(tooLarge.error().sentence, "larger than 99999 bytes");
}

TEST_F(FileTest, SaysWhyItCannotRead) {
  const auto missing = readFile(folder_ + "/none", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::gone);
  EXPECT_EQ(missing.error().path, folder_ + "/none");
  EXPECT_EQ(readFile(folder_, 10).error().sysErrno, EISDIR);
}

TEST_F(FileTest, AFifoWithoutWriterDoesNotBlock) {
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(readFile(folder_ + "/fifo", 10).value(), "");
}

TEST_F(FileTest, BelowADirectoryALinkIsRefused) {
  put("real", "42\n");
  std::filesystem::create_symlink("real", folder_ + "/link");
  const Fd directory(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(readAt(directory.get(), "real", 100).value(), "42\n");
  EXPECT_EQ(readAt(directory.get(), "link", 100).error().sysErrno, ELOOP);
}

TEST_F(FileTest, AHeldDescriptorReadsFromTheStartEachTime) {
  const Fd fd(::open(put("held", "one").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(readFd(fd.get(), "held", 100).value(), "one");
  put("held", "two");
  EXPECT_EQ(readFd(fd.get(), "held", 100).value(), "two");
  EXPECT_EQ(readFd(fd.get(), "held", 2).error().code, Code::invalid);
  EXPECT_FALSE(readFd(-1, "held", 2));
}

}  // namespace
}  // namespace memqos
