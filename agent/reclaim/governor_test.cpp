#include "reclaim/governor.h"

namespace memqos::reclaim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart(1h);

struct Rates {
  std::int64_t stolen, restored, hits;  // a second
  std::chrono::microseconds memory, io;
};

Governor after(Rates rates, int seconds = 12) {
  Governor out;
  for (int i = 0; i <= seconds; ++i)
    out.observe(
        {kStart + i * 1s, i * rates.restored, i * rates.stolen, i * rates.hits, {}, i * rates.memory, i * rates.io});
  return out;
}

struct RateCase {
  const char* what;
  Rates rates;
  double rate;
};
class GovernorRate : public ::testing::TestWithParam<RateCase> {};
TEST_P(GovernorRate, Is) {
  EXPECT_NEAR(after(GetParam().rates).rate(), GetParam().rate, 0.01) << GetParam().what;
}
INSTANTIATE_TEST_SUITE_P(Table, GovernorRate,
                         ::testing::Values(RateCase{"calm", {1000, 0, 0, 0us, 0us}, 1},
                                           RateCase{"some come back", {1000, 90, 0, 0us, 0us}, 1},
                                           RateCase{"many come back", {1000, 200, 0, 0us, 0us}, 0.5},
                                           RateCase{"few pages prove nothing", {10, 5, 0, 0us, 0us}, 1},
                                           RateCase{"stalls", {1000, 0, 0, 25ms, 0us}, 0.5},
                                           RateCase{"waits for io", {1000, 0, 0, 0us, 25ms}, 0.5},
                                           RateCase{"stalls a lot", {1000, 0, 0, 80ms, 0us}, 0},
                                           RateCase{"stalls at its limit", {1000, 0, 3, 80ms, 80ms}, 1}));

TEST(Governor, PausesWhenMostIsWantedBackAndJudgesAnewAfterwards) {
  Governor governor;
  int i = 0;
  for (; i < 3; ++i) governor.observe({kStart + i * 1s, i * 600, i * 1000, 0, {}, 0us, 0us});
  ASSERT_TRUE(governor.pausedUntil());
  const TimePoint until = *governor.pausedUntil();
  EXPECT_LE(until, kStart + 12s);
  for (; kStart + i * 1s < until; ++i) governor.observe({kStart + i * 1s, 1200, 2000, 0, {}, 0us, 0us});
  EXPECT_TRUE(governor.pausedUntil());
  governor.observe({until, 1200, 2000, 0, {}, 0us, 0us});
  EXPECT_FALSE(governor.pausedUntil());
}

TEST(Governor, TrimsLessTheMoreItStalls) {
  EXPECT_EQ(after({0, 0, 0, 0us, 0us}).trim(kGiB), Bytes{kGiB.count / 2000}.roundDown(kPage));
  EXPECT_NEAR(static_cast<double>(after({0, 0, 0, 500us, 0us}).trim(kGiB).count),
              static_cast<double>(kGiB.count) / 4000, 8192);
  EXPECT_EQ(after({0, 0, 0, 2ms, 0us}).trim(kGiB), Bytes{0});
  EXPECT_EQ(after({0, 0, 0, 0us, 2ms}).trim(kGiB), Bytes{0});
}

TEST(Governor, SeesSwappingThatWearsADisk) {
  Governor governor;
  for (int i = 0; i < 5; ++i) governor.observe({kStart + i * 1s, 0, 0, 0, mebibytes(i), 0us, 0us});
  EXPECT_FALSE(governor.swapsMuch());
  for (int i = 5; i < 10; ++i) governor.observe({kStart + i * 1s, 0, 0, 0, mebibytes(4 + (i - 4) * 4), 0us, 0us});
  EXPECT_TRUE(governor.swapsMuch());
}

}  // namespace
}  // namespace memqos::reclaim
