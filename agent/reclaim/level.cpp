#include "reclaim/level.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace memqos::reclaim {
namespace {

constexpr double kGrowthTime = 0.05;  // s
constexpr double kRecentTime = 1;     // s
constexpr Bytes kSmallestHysteresis{256 * 1024};
constexpr auto kQuiet = std::chrono::seconds(30);
constexpr auto kDriftEvery = std::chrono::seconds(5);
constexpr Bytes kWorthless{64 * 1024};
constexpr auto kFastBefore = std::chrono::milliseconds(100);
constexpr double kHotShare = 0.05;
// So many hot pages in kAdaptEvery are hot, however many cold ones went with them: beside a fast stream they are a
// small share. 1.5 % of the limit in a minute.
constexpr std::int64_t kHotOfLimit = 8192;
constexpr std::int64_t kFewPages = 4;
constexpr double kLeastTrust = 1.0 / 16;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Bytes times(Bytes bytes, double factor) {
  const double product = static_cast<double>(bytes.count) * factor;
  return product >= 9e18 ? Limit::max().bytes() : Bytes{static_cast<std::int64_t>(product)};
}

}  // namespace

Bytes grownIn(double bytesPerSecond, Duration time) {
  const double bytes = std::max(bytesPerSecond, 0.0) * seconds(time);
  return bytes >= 9e18 ? Limit::max().bytes() : Bytes{static_cast<std::int64_t>(bytes)};
}

void Growth::observe(TimePoint now, Bytes level, Bytes taken) {
  const Bytes before = std::exchange(level_, level);
  const auto last = std::exchange(at_, now);
  looks_ += looks_ < 3 ? 1 : 0;
  if (!last || now <= *last) return;
  const double dt = seconds(now - *last);
  const double sample = static_cast<double>((level + taken - before).count) / dt;
  rate_ = std::max(0.0, rate_ + (sample - rate_) * dt / (dt + kGrowthTime));
  recent_ = std::max(rate_, recent_ * std::exp(-dt / kRecentTime));
  peak_ = std::max(rate_, peak_ * std::exp(-dt / 600));
}

Headroom::Headroom(Bytes limit)
    : limit_(limit), least_(std::min(std::max(kMiB, Bytes{limit.count / 64}), Bytes{limit.count / 4})), calm_(least_) {}

void Headroom::adapt(TimePoint now, const Evidence& evidence) {
  const std::int64_t many = std::max(kFewPages, limit_.count / kPage.count / kHotOfLimit);
  const bool hot = evidence.stolen > 0 &&
                   (evidence.restored > many ||
                    static_cast<double>(evidence.restored) > kHotShare * static_cast<double>(evidence.stolen));
  if (evidence.limitHit && (hot || evidence.hotLately > kHotShare)) {
    // The limit is too small for what is hot: neither more room nor less helps.
  } else if (evidence.limitHit) {
    calm_ = std::min(times(calm_, 1.5), Bytes{limit_.count / 2});
    trust_ = std::min(1.0, trust_ * 1.5);
  } else if (hot) {
    calm_ = std::max(times(calm_, 0.7), least_);
    trust_ = std::max(kLeastTrust, trust_ * 0.7);
  } else {
    if (now - quietSince_ < kQuiet || now - driftedAt_ < kDriftEvery) return;
    driftedAt_ = now;
    calm_ = std::max(times(calm_, 0.95), least_);
    trust_ = std::min(1.0, trust_ * 1.05);
    return;
  }
  quietSince_ = now;
}

Bytes Headroom::at(const Growth& growth) const {
  const Bytes half{limit_.count / 2};
  const Bytes roof = std::max(kGiB, grownIn(growth.peak(), std::chrono::seconds(2)));
  const Bytes most = std::min(half, std::clamp(Bytes{limit_.count / 4}, std::min(mebibytes(4), roof), roof));
  const Bytes wanted = times(grownIn(growth.bytesPerSecond(), kGrowthRoom), trust_);
  return std::max(calm_, std::min(most, wanted));
}

Level::Level(const LevelSettings& settings) : settings_(settings), headroom_(settings.limit) {}

void Level::configure(const LevelSettings& settings) {
  if (settings.limit != settings_.limit) headroom_ = Headroom(settings.limit);
  settings_ = settings;
}

void Level::observe(TimePoint now, Bytes level, Bytes taken) {
  growth_.observe(now, level, taken);
  level_ = level;
  const Marks m = marks();
  if (level_ > m.start) running_ = true;
  if (level_ <= m.stop) running_ = false;
}

void Level::adapt(TimePoint now, const Evidence& evidence) {
  headroom_.adapt(now, evidence);
}

Marks Level::marks() const {
  const Bytes limit = settings_.limit;
  Marks out;
  out.headroom = headroom_.at(growth_);
  if (settings_.start) out.headroom = std::max(limit - *settings_.start, Bytes{0});
  out.start = limit - out.headroom;
  out.stop = stopBelow(out.start, out.headroom);
  const Bytes quarter{out.headroom.count / 4};
  out.urgent = std::max(out.start, limit - std::clamp(quarter, kSmallestHysteresis, kGiB));
  return out;
}

Bytes Level::stopBelow(Bytes start, Bytes headroom) const {
  if (settings_.stop) return std::min(*settings_.stop, start);
  const Bytes most = std::max(kSmallestHysteresis, Bytes{settings_.limit.count / 64});
  return std::max(Bytes{0}, start - std::clamp(Bytes{headroom.count / 4}, kSmallestHysteresis, most));
}

Bytes Level::calmStop() const {
  if (settings_.start) return marks().stop;
  return stopBelow(settings_.limit - headroom_.calm(), headroom_.calm());
}

Bytes Level::latestStart() const {
  if (settings_.start) return marks().start;
  return settings_.limit - headroom_.least();
}

std::optional<Bytes> Level::target() const {
  if (!running_) return std::nullopt;
  const Marks m = marks();
  // A stop mark that somebody fixed is where it ends.
  const Bytes ahead = settings_.stop ? Bytes{0} : std::min(grownIn(growth(), kLookahead), m.headroom);
  return std::max(Bytes{0}, m.stop - ahead);
}

bool Level::nearLimit(double growth) const {
  return settings_.limit - level_ < grownIn(growth, kFastBefore);
}

bool Level::wantsFast() const {
  return nearLimit(growth_.recent());
}

Duration Level::pollAfter(bool mayBeFast, Bytes mark) const {
  if (!growth_.known()) return kShortestPoll;
  // The least amount that is worth a write is never urgent: at a mark without growth there is no hurry.
  const double room = static_cast<double>((std::max(Bytes{0}, mark - level_) + kWorthless).count);
  const auto after = [&](double growth, Duration fastest) {
    const double time = std::min(room / (2 * std::max(growth, 1.0)), seconds(kLongestPoll));
    return std::max(mayBeFast && nearLimit(growth) ? fastest : Duration(kShortestPoll),
                    std::chrono::duration_cast<Duration>(std::chrono::duration<double>(time)));
  };
  // What grows in bursts grows again: one may be over before it is seen.
  return std::min(after(growth(), kFastestPoll), after(growth_.recent(), kPausedPoll));
}

}  // namespace memqos::reclaim
