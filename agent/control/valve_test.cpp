#include "control/valve.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;

const loop::TimePoint kStart{std::chrono::hours(1)};

NodePressure calm() {
  return {0us, 0, mebibytes(500), mebibytes(1000), Bytes{}};
}

TEST(Valve, ClosesAfterThirtySecondsOfCalm) {
  Valve valve;
  EXPECT_FALSE(valve.open());
  EXPECT_TRUE(valve.trip(kStart));
  EXPECT_FALSE(valve.trip(kStart + 20s));
  EXPECT_EQ(valve.closesAt(), kStart + 50s);
  EXPECT_FALSE(valve.settle(kStart + 49s));
  EXPECT_TRUE(valve.settle(kStart + 50s));
  EXPECT_FALSE(valve.open());
  EXPECT_FALSE(valve.settle(kStart + 60s));
  EXPECT_TRUE(valve.trip(kStart + 61s));
}

TEST(NodeStrain, EachReasonAlone) {
  struct Row {
    const char* name;
    NodePressure second;
    bool strained;
  };
  NodePressure stalled = calm();
  stalled.full = 101ms;
  NodePressure barely = calm();
  barely.full = 100ms;
  NodePressure killed = calm();
  killed.oomKills = 1;
  NodePressure empty = calm();
  empty.available = mebibytes(19);
  NodePressure heldBack = calm();
  heldBack.held = mebibytes(481);
  NodePressure almost = calm();
  almost.available = mebibytes(20);
  for (const Row& row : {Row{"stall", stalled, true}, Row{"stall of exactly 10 %", barely, false},
                         Row{"oom kill", killed, true}, Row{"available", empty, true},
                         Row{"exactly 2 % available", almost, false}, Row{"available but held", heldBack, true}}) {
    NodeStrain strain;
    EXPECT_FALSE(strain.look(kStart, calm())) << row.name;
    EXPECT_EQ(strain.look(kStart + 1s, row.second).has_value(), row.strained) << row.name;
  }
}

TEST(NodeStrain, AStallIsNoticedWithinItsWindowAndOnce) {
  NodeStrain strain;
  NodePressure pressure = calm();
  strain.look(kStart, pressure);
  pressure.full = 90ms;
  EXPECT_FALSE(strain.look(kStart + 100ms, pressure));
  pressure.full = 150ms;
  EXPECT_TRUE(strain.look(kStart + 200ms, pressure));
  EXPECT_FALSE(strain.look(kStart + 300ms, pressure));
}

TEST(NodeStrain, LongGapsAreMeasuredAgainstTheirLength) {
  NodeStrain strain;
  NodePressure pressure = calm();
  strain.look(kStart, pressure);
  pressure.full = 900ms;
  EXPECT_FALSE(strain.look(kStart + 10s, pressure));
  pressure.full = 2s;
  EXPECT_TRUE(strain.look(kStart + 20s, pressure));
}

TEST(NodeStrain, WithoutPsiTheOthersStillOpen) {
  NodeStrain strain;
  NodePressure pressure = calm();
  pressure.full.reset();
  EXPECT_FALSE(strain.look(kStart, pressure));
  pressure.oomKills = 3;
  EXPECT_TRUE(strain.look(kStart + 1s, pressure));
}

TEST(NodeStrain, OldOomKillsAreNoNews) {
  NodeStrain strain;
  NodePressure pressure = calm();
  pressure.oomKills = 100;
  EXPECT_FALSE(strain.look(kStart, pressure));
  EXPECT_FALSE(strain.look(kStart + 1s, pressure));
}

}  // namespace
}  // namespace memqos::control
