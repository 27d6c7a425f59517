#include "kube/reflector.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1000h};

// Chance that is always the same, so that every time can be written down.
Reflector reflector(double chance = 0.0) {
  return {{}, [chance] { return chance; }};
}
Wait waitOf(const Action& action) {
  EXPECT_TRUE(std::holds_alternative<Wait>(action));
  return std::holds_alternative<Wait>(action) ? std::get<Wait>(action) : Wait{};
}
List listOf(const Action& action) {
  EXPECT_TRUE(std::holds_alternative<List>(action));
  return std::holds_alternative<List>(action) ? std::get<List>(action) : List{};
}
Watch watchOf(const Action& action) {
  EXPECT_TRUE(std::holds_alternative<Watch>(action));
  return std::holds_alternative<Watch>(action) ? std::get<Watch>(action) : Watch{};
}
// Listed at version 100, watching since kStart.
Reflector watching(double chance = 0.0) {
  Reflector out = reflector(chance);
  (void)out.start(kStart);
  (void)out.waited(kStart);
  (void)out.listed(kStart, "100", "");
  return out;
}

TEST(Reflector, BeginsAfterAMomentOfChanceFromTheWatchCache) {
  Reflector one = reflector(0.25);
  EXPECT_EQ(waitOf(one.start(kStart)).until, kStart + 250ms);
  EXPECT_EQ(listOf(one.waited(kStart)), (List{.resourceVersion = "0"}));
  EXPECT_FALSE(one.synced());
}

TEST(Reflector, WatchesFromWhereTheListEnded) {
  Reflector one = watching(0.5);
  EXPECT_TRUE(one.synced());
  const Action again = one.watchEnded(kStart + 450s, WatchEnd::served, {});
  // Nobody spoke in it, once: that may happen.
  EXPECT_EQ(watchOf(again), (Watch{"100", 450s}));
}

TEST(Reflector, TimeoutsDifferFromAgentToAgent) {
  for (const auto& [chance, timeout] : {std::pair{0.0, 300s}, {0.5, 450s}, {0.999, 599s}}) {
    Reflector one = reflector(chance);
    (void)one.start(kStart);
    (void)one.waited(kStart);
    EXPECT_EQ(watchOf(one.listed(kStart, "7", "")).timeout, timeout);
  }
}

TEST(Reflector, BookmarksMoveThePlaceOn) {
  Reflector one = watching();
  one.progressed("250");
  EXPECT_EQ(watchOf(one.watchEnded(kStart + 300s, WatchEnd::served, {})).resourceVersion, "250");
  EXPECT_EQ(one.restarts().at("served"), 1U);
}

TEST(Reflector, ABrokenConnectionIsWatchedAgainAndNotListed) {
  Reflector one = watching();
  one.progressed("250");
  const Action action = one.watchEnded(kStart + 10s, WatchEnd::broken, {.text = "the connection broke"});
  EXPECT_EQ(waitOf(action).until, kStart + 10s + 800ms);
  EXPECT_EQ(one.problem(), "the connection broke");
  EXPECT_EQ(watchOf(one.waited(kStart + 11s)).resourceVersion, "250");
  EXPECT_TRUE(one.synced());
  one.watchOpened();
  EXPECT_EQ(one.problem(), "");
}

// kubernetes/kubernetes#102160, apache/skywalking#8565, minikube#2585: 410, and the client stops or spins.
TEST(Reflector, AnExpiredPlaceIsListedAgainFromEtcdInPages) {
  Reflector one = watching();
  const Action action = one.watchEnded(kStart + 10s, WatchEnd::refused, {.status = 410, .text = "too old"});
  EXPECT_EQ(waitOf(action).until, kStart + 10s + 800ms);
  EXPECT_EQ(one.restarts().at("expired"), 1U);
  EXPECT_EQ(listOf(one.waited(kStart + 11s)), (List{.resourceVersion = "", .limit = 500}));
  EXPECT_TRUE(one.synced()) << "what is known stays";
  EXPECT_EQ(listOf(one.listed(kStart + 12s, "400", "token")),
            (List{.resourceVersion = "", .limit = 500, .continueToken = "token"}));
  EXPECT_EQ(watchOf(one.listed(kStart + 13s, "400", "")).resourceVersion, "400");
}

TEST(Reflector, AnExpiredContinuationBeginsAnew) {
  Reflector one = watching();
  (void)one.watchEnded(kStart, WatchEnd::refused, {.status = 410});
  (void)one.waited(kStart);
  (void)one.listed(kStart, "400", "token");
  (void)one.listRefused(kStart, {.status = 410});
  EXPECT_EQ(listOf(one.waited(kStart)), (List{.resourceVersion = "", .limit = 500}));
}

TEST(Reflector, AListAfterTheFirstIsNotOlderThanWhatIsKnown) {
  Reflector one = watching();
  (void)one.watchEnded(kStart + 1s, WatchEnd::malformed, {.text = "no JSON"});
  EXPECT_EQ(listOf(one.waited(kStart + 2s)), (List{.resourceVersion = "100", .notOlderThan = true}));
}

// etcd was restored: the cache never reaches the version that we know.
TEST(Reflector, AVersionThatTheCacheDoesNotReachIsLeftBehind) {
  Reflector one = watching();
  (void)one.watchEnded(kStart, WatchEnd::malformed, {});
  (void)one.waited(kStart);
  const Action action =
      one.listRefused(kStart, {.status = 504, .retryAfter = 1s, .text = "Too large resource version"});
  EXPECT_EQ(waitOf(action).until, kStart + 1600ms);
  EXPECT_EQ(listOf(one.waited(kStart)), (List{.resourceVersion = "", .limit = 500}));
}

TEST(Reflector, WatchesThatSayNothingAtAllEndInAList) {
  Reflector one = watching();
  EXPECT_EQ(watchOf(one.watchEnded(kStart + 150s, WatchEnd::idle, {})).resourceVersion, "100");
  EXPECT_EQ(listOf(one.watchEnded(kStart + 300s, WatchEnd::idle, {})),
            (List{.resourceVersion = "100", .notOlderThan = true}));
  EXPECT_EQ(one.restarts().at("idle"), 2U);
}

// projectcalico/kube-controllers#15: a half-open connection; bookmarks tell it apart from a quiet cluster.
TEST(Reflector, AWatchThatFellSilentIsBegunAgainAtOnce) {
  Reflector one = watching();
  one.progressed("300");
  EXPECT_EQ(watchOf(one.watchEnded(kStart + 150s, WatchEnd::idle, {.text = "silent"})).resourceVersion, "300");
  EXPECT_EQ(one.problem(), "");
}

TEST(Reflector, BacksOffTo30SecondsAndNoFurther) {
  Reflector one = watching();
  TimePoint now = kStart;
  std::vector<std::chrono::milliseconds> waits;
  for (int i = 0; i < 8; ++i) {
    const TimePoint until = waitOf(one.watchEnded(now, WatchEnd::broken, {.text = "refused"})).until;
    waits.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(until - now));
    now = until;
    (void)one.waited(now);
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 30000ms, 30000ms));
}

TEST(Reflector, JitterAtMostDoublesAWait) {
  Reflector one = watching(0.999);
  const TimePoint until = waitOf(one.watchEnded(kStart, WatchEnd::broken, {})).until;
  EXPECT_GT(until, kStart + 1500ms);
  EXPECT_LT(until, kStart + 1600ms);
}

TEST(Reflector, TwoHealthyMinutesForgetTheBackOff) {
  Reflector one = watching();
  TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) {
    now = waitOf(one.watchEnded(now, WatchEnd::broken, {})).until;
    (void)one.waited(now);
  }
  one.progressed("300");
  now += 119s;
  EXPECT_EQ(waitOf(one.watchEnded(now, WatchEnd::broken, {})).until, now + 25600ms);
  now += 25600ms;
  (void)one.waited(now);
  now += 121s;
  EXPECT_EQ(waitOf(one.watchEnded(now, WatchEnd::broken, {})).until, now + 800ms);
}

TEST(Reflector, RetryAfterIsALowerBound) {
  Reflector one = watching();
  EXPECT_EQ(waitOf(one.watchEnded(kStart, WatchEnd::refused, {.status = 429, .retryAfter = 20s})).until, kStart + 20s);
  EXPECT_EQ(watchOf(one.waited(kStart + 20s)).resourceVersion, "100") << "watched again, not listed";
  Reflector other = watching();
  EXPECT_EQ(waitOf(other.watchEnded(kStart, WatchEnd::refused, {.status = 503, .retryAfter = 0s})).until,
            kStart + 800ms);
}

TEST(Reflector, NotEverybodyComesBackAtTheSameMoment) {
  Reflector one = watching(0.5);
  EXPECT_EQ(waitOf(one.watchEnded(kStart, WatchEnd::refused, {.status = 429, .retryAfter = 20s})).until, kStart + 25s);
}

TEST(Reflector, AServerThatEndsEveryWatchAtOnceIsNotAskedAtOnce) {
  Reflector one = watching();
  EXPECT_EQ(waitOf(one.watchEnded(kStart + 100ms, WatchEnd::served, {})).until, kStart + 900ms);
}

TEST(Reflector, RefusalsOfTheFirstListAreToldAndRetried) {
  Reflector one = reflector();
  (void)one.start(kStart);
  (void)one.waited(kStart);
  (void)one.listRefused(kStart, {.status = 403, .text = "HTTP 403: pods is forbidden"});
  EXPECT_EQ(one.problem(), "HTTP 403: pods is forbidden");
  EXPECT_EQ(listOf(one.waited(kStart + 1s)), (List{.resourceVersion = "0"}));
  (void)one.listed(kStart + 2s, "5", "");
  EXPECT_EQ(one.problem(), "");
}

}  // namespace
}  // namespace memqos::kube
