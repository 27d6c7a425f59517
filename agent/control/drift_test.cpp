#include "control/drift.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;

TEST(RepairPace, FiveAtOnceThenSlowerAndSlower) {
  RepairPace pace;
  loop::TimePoint now{1h};
  for (int i = 0; i < 5; ++i) {
    now += 1s;
    EXPECT_EQ(pace.repairAt(now), now);
  }
  loop::Duration wait = 1s;
  for (int i = 0; i < 10; ++i) {
    now += 1s;
    EXPECT_EQ(pace.repairAt(now), now + wait) << i;
    now += wait;
    wait = std::min<loop::Duration>(wait * 2, 60s);
  }
}

TEST(RepairPace, SlowWritersNeverWait) {
  RepairPace pace;
  loop::TimePoint now{1h};
  for (int i = 0; i < 100; ++i) {
    now += 13s;
    EXPECT_EQ(pace.repairAt(now), now);
  }
}

TEST(RepairPace, TenQuietMinutesForget) {
  RepairPace pace;
  loop::TimePoint now{1h};
  for (int i = 0; i < 8; ++i) pace.repairAt(now);
  EXPECT_GT(pace.repairAt(now), now);
  now += 10min;
  EXPECT_EQ(pace.repairAt(now), now);
}

}  // namespace
}  // namespace memqos::control
