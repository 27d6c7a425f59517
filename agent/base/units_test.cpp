#include "base/units.h"

#include <cerrno>

#include "base/error.h"

namespace memqos {
namespace {

TEST(Units, SumsSaturate) {
  const Bytes most{std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(most + Bytes{1}, most);
  EXPECT_EQ(Bytes{-2} - most, Bytes{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(most.roundUp(kPage), most);
}

TEST(Units, RoundsToPages) {
  EXPECT_EQ(Bytes{4097}.roundDown(kPage), kPage);
  EXPECT_EQ(Bytes{4097}.roundUp(kPage), Bytes{8192});
  EXPECT_EQ(Bytes{8192}.roundUp(kPage), Bytes{8192});
}

TEST(Units, ScalesIn128Bit) {
  EXPECT_EQ(scale(kGiB + kGiB, 1 << 30, 1 << 30), kGiB + kGiB);
}

// "max" is no number, and the kernel rounds limits: what other agents have misread.
TEST(Units, ParsesWhatKernelFilesHold) {
  EXPECT_TRUE(parseLimit("max\n")->isMax());
  EXPECT_EQ(*parseLimit("0"), Limit(Bytes{0}));
  EXPECT_EQ(*parseLimit("134217728\n"), Limit(mebibytes(128)));
  EXPECT_EQ(parseLimit("9223372036854771712")->bytes(), Bytes{9223372036854771712});
  EXPECT_TRUE(parseLimit("18446744073709551615")->isMax());
  EXPECT_TRUE(parseLimit("99999999999999999999999")->isMax());
  EXPECT_EQ(parseLimit("").error().code, Code::invalid);
  EXPECT_EQ(parseLimit("-1").error().code, Code::invalid);
  EXPECT_EQ(parseLimit("12x").error().code, Code::invalid);
}

TEST(Units, MaxIsTheGreatest) {
  EXPECT_GT(Limit::max(), Limit(kGiB));
  EXPECT_EQ(std::min(Limit::max(), Limit(kGiB)), Limit(kGiB));
}

TEST(Units, HumanTextIsExact) {
  EXPECT_EQ(toHuman(mebibytes(64)), "64Mi");
  EXPECT_EQ(toHuman(Bytes{0}), "0");
  EXPECT_EQ(toHuman(Bytes{1536 * 1024}), "1536Ki");
  EXPECT_EQ(toHuman(Bytes{123457}), "123457");
  EXPECT_EQ(toHuman(Limit::max()), "max");
}

// cadvisor#1843, #2306: a read that fails with ENODEV while the cgroup is being removed was an error.
TEST(Errors, ARemovedCgroupIsGone) {
  for (const int error : {ENODEV, ENOENT, ESRCH})
    EXPECT_EQ(failErrno(error, "cannot read", "a").value().code, Code::gone);
  for (const int error : {EIO, EACCES, EOPNOTSUPP, EBUSY, EINVAL, EAGAIN})
    EXPECT_NE(failErrno(error, "cannot read", "a").value().code, Code::gone) << error;
}

TEST(Errors, TextHasSentencePathAndErrno) {
  const Error error{Code::io, 5, "/x", "cannot read"};
  EXPECT_EQ(error.text(), "cannot read: /x: Input/output error");
  EXPECT_EQ(Error(error).in("probe").text(), "probe: cannot read: /x: Input/output error");
}

}  // namespace
}  // namespace memqos
