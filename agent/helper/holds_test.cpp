#include "helper/holds.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace memqos::helper {
namespace {

using watchdog::Request;

constexpr std::int64_t kSecond = 1'000'000'000;

class HoldsTest : public testing::Test {
 protected:
  HoldsTest() {
    char path[] = "/tmp/memqos-holds-XXXXXX";
    file_ = ::mkstemp(path);
    EXPECT_GE(file_, 0);
    ::unlink(path);
  }
  ~HoldsTest() override { ::close(file_); }

  void set(std::string_view text) const {
    ASSERT_EQ(::ftruncate(file_, 0), 0);
    ASSERT_EQ(::pwrite(file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  std::string get() const {
    std::array<char, 64> buffer{};
    const auto length = ::pread(file_, buffer.data(), buffer.size(), 0);
    return std::string(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  int hold(std::string_view ours, std::string_view restore, std::int64_t undoAt = 0, std::uint64_t cgroup = 7) {
    Request request;
    request.cgroup = cgroup;
    request.file = 2;
    request.undoAt = undoAt;
    ours.copy(request.ours, sizeof(request.ours));
    restore.copy(request.restore, sizeof(request.restore));
    return holds_.hold(request, ::dup(file_));
  }

  int file_ = -1;
  std::array<Hold, 3> table_{};
  Holds holds_{table_};
};

struct Case {
  const char* name;
  std::vector<const char*> ours;  // held one after the other
  const char* found;
  const char* after;
};

class AtTheEnd : public HoldsTest, public testing::WithParamInterface<Case> {};

TEST_P(AtTheEnd, OnlyTheLastTwoValuesArePutBack) {
  for (const char* ours : GetParam().ours) ASSERT_EQ(hold(ours, "max"), 0);
  set(GetParam().found);
  holds_.undoAll(1);
  EXPECT_EQ(get(), GetParam().after);
  EXPECT_EQ(holds_.nextUndo(), 0);
}

INSTANTIATE_TEST_SUITE_P(Holds, AtTheEnd,
                         testing::Values(Case{"Ours", {"8192"}, "8192\n", "max"},
                                         Case{"Foreign", {"8192"}, "12288\n", "12288\n"},
                                         Case{"TheOneBefore", {"8192", "12288"}, "8192\n", "max"},
                                         Case{"TooOld", {"8192", "12288", "16384"}, "8192\n", "8192\n"},
                                         Case{"AgainKeepsTheOneBefore", {"8192", "12288", "12288"}, "8192\n", "max"},
                                         Case{"RoundedToPages", {"10000"}, "8192\n", "max"},
                                         Case{"AFlagIsNotRounded", {"1"}, "0\n", "0\n"},
                                         Case{"Keyword", {"max"}, "max\n", "max\n"},
                                         Case{"LongerThanTheRest", {"123456789"}, "123456789\n", "max"},
                                         Case{"Junk", {"8192"}, "8192x\n", "8192x\n"}, Case{"Empty", {"8192"}, "", ""}),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(HoldsTest, ATemporaryValueEndsAtItsTime) {
  set("8192");
  ASSERT_EQ(hold("8192", "max", 5 * kSecond), 0);
  EXPECT_EQ(holds_.nextUndo(), 5 * kSecond);
  holds_.undoDue(5 * kSecond - 1);
  EXPECT_EQ(get(), "8192");
  holds_.undoDue(5 * kSecond);
  EXPECT_EQ(get(), "max");
  EXPECT_EQ(holds_.nextUndo(), 0);
}

TEST_F(HoldsTest, ATemporaryValueOverASteadyOneGoesBackToItAndTheSteadyOneAtTheEnd) {
  ASSERT_EQ(hold("8192", "max"), 0);
  ASSERT_EQ(hold("16384", "8192", 5 * kSecond), 0);
  set("16384");
  holds_.undoDue(6 * kSecond);
  EXPECT_EQ(get(), "8192");
  holds_.undoAll(7 * kSecond);
  EXPECT_EQ(get(), "max");
}

TEST_F(HoldsTest, TheEndComesBeforeATemporaryValuesTime) {
  ASSERT_EQ(hold("8192", "max"), 0);
  ASSERT_EQ(hold("16384", "8192", 5 * kSecond), 0);
  set("16384");
  holds_.undoAll(1 * kSecond);
  EXPECT_EQ(get(), "max");
}

TEST_F(HoldsTest, WhatIsReleasedStays) {
  set("8192");
  ASSERT_EQ(hold("8192", "max"), 0);
  ASSERT_EQ(hold("8192", "0", 0, 8), 0);
  holds_.release(8, 2);
  holds_.release(7, 1);  // another file
  EXPECT_EQ(holds_.size(), 1U);
  holds_.release(7, 2);
  holds_.release(7, 2);
  EXPECT_EQ(holds_.size(), 0U);
  holds_.undoAll(1);
  EXPECT_EQ(get(), "8192");
}

TEST_F(HoldsTest, RefusesWhatItCannotHold) {
  EXPECT_EQ(hold("", "max"), EINVAL);
  EXPECT_EQ(hold("1", " \n"), EINVAL);
  EXPECT_EQ(hold(std::string(watchdog::kTextSize, '1'), "max"), EINVAL) << "no terminator";
  EXPECT_EQ(holds_.hold(Request{}, -1), EBADF);
  for (std::uint64_t i = 0; i < table_.size(); ++i) EXPECT_EQ(hold("1", "2", 0, i), 0);
  EXPECT_EQ(hold("1", "2", 0, 99), ENOSPC);
  EXPECT_EQ(hold("3", "2", 0, 0), 0) << "a known key needs no room";
  holds_.release(1, 2);
  EXPECT_EQ(hold("1", "2", 0, 99), 0);
}

TEST_F(HoldsTest, WhatTheKernelRefusesIsTriedAgainAndThenLeft) {
  set("8192");
  const int readOnly = ::open(("/proc/self/fd/" + std::to_string(file_)).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(readOnly, 0);
  Request request;
  request.undoAt = kSecond;
  std::strcpy(request.ours, "8192");
  std::strcpy(request.restore, "max");
  ASSERT_EQ(holds_.hold(request, readOnly), 0);
  int attempts = 0;
  while (const std::int64_t next = holds_.nextUndo()) {
    EXPECT_EQ(next, kSecond + attempts * Holds::kRetry);
    holds_.undoDue(next);
    ++attempts;
  }
  EXPECT_EQ(attempts, Holds::kMostAttempts);
  EXPECT_EQ(get(), "8192");
}

}  // namespace
}  // namespace memqos::helper
