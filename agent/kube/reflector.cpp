#include "kube/reflector.h"

#include <algorithm>
#include <utility>

namespace memqos::kube {
namespace {

constexpr int kGone = 410;
constexpr int kTimeout = 504;  // of a list: the cache does not reach the version that was asked for

Duration part(Duration whole, double share) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * share));
}

}  // namespace

std::string_view name(WatchEnd end) {
  switch (end) {
    case WatchEnd::served:
      return "served";
    case WatchEnd::broken:
      return "broken";
    case WatchEnd::idle:
      return "idle";
    case WatchEnd::malformed:
      return "malformed";
    case WatchEnd::refused:
      return "refused";
  }
  return "";
}

Action Reflector::start(TimePoint now) {
  next_ = firstPage();
  return Wait{now + part(tuning_.startJitter, random_())};
}

Action Reflector::waited(TimePoint now) {
  if (std::holds_alternative<Watch>(next_)) watchBegins(now);
  return next_;
}

List Reflector::firstPage() const {
  if (fromEtcd_) return {.resourceVersion = "", .notOlderThan = false, .limit = tuning_.pageSize};
  if (resourceVersion_.empty()) return {.resourceVersion = "0"};
  return {.resourceVersion = resourceVersion_, .notOlderThan = true};
}

void Reflector::watchBegins(TimePoint now) {
  watchStarted_ = now;
  watchSpoke_ = false;
}

Watch Reflector::watch(TimePoint now) {
  watchBegins(now);
  const auto span = static_cast<double>((tuning_.longestWatch - tuning_.shortestWatch).count());
  return {resourceVersion_, tuning_.shortestWatch + std::chrono::seconds(static_cast<std::int64_t>(span * random_()))};
}

Action Reflector::listed(TimePoint now, const std::string& resourceVersion, const std::string& continueToken) {
  if (!continueToken.empty()) {
    return List{
        .resourceVersion = "", .notOlderThan = false, .limit = tuning_.pageSize, .continueToken = continueToken};
  }
  resourceVersion_ = resourceVersion;
  fromEtcd_ = false;
  synced_ = true;
  silent_ = 0;
  problem_.clear();
  return watch(now);
}

Action Reflector::listRefused(TimePoint now, const Refusal& refusal) {
  // 410: the version, or the continuation, is too old. 504: it is too new, as after a restore of etcd.
  if (refusal.status == kGone || refusal.status == kTimeout) fromEtcd_ = true;
  return backOff(now, firstPage(), refusal);
}

void Reflector::progressed(const std::string& resourceVersion) {
  if (!resourceVersion.empty()) resourceVersion_ = resourceVersion;
  watchSpoke_ = true;
  silent_ = 0;
  problem_.clear();
}

Action Reflector::watchEnded(TimePoint now, WatchEnd end, const Refusal& refusal) {
  const bool expired = end == WatchEnd::refused && refusal.status == kGone;
  ++restarts_[expired ? "expired" : std::string(name(end))];
  if (expired) {
    fromEtcd_ = true;
    return backOff(now, firstPage(), refusal);
  }
  // What cannot be read would come again from the same place.
  if (end == WatchEnd::malformed) return backOff(now, firstPage(), refusal);
  const bool silent = (end == WatchEnd::served || end == WatchEnd::idle) && !watchSpoke_;
  const bool brief = silent && now - watchStarted_ < tuning_.shortLife;
  if (silent && !brief && ++silent_ >= tuning_.silentWatches) {
    silent_ = 0;
    return firstPage();
  }
  if (end == WatchEnd::idle || (end == WatchEnd::served && !brief)) return watch(now);
  return backOff(now, watch(now), refusal);
}

Action Reflector::backOff(TimePoint now, Action then, const Refusal& refusal) {
  if (!refusal.text.empty()) problem_ = refusal.text;
  if (!lastBackOff_ || now - *lastBackOff_ > tuning_.health) nextBackOff_ = tuning_.firstBackOff;
  Duration wait = nextBackOff_ + part(nextBackOff_, random_());  // jitter of up to once more, as client-go's
  nextBackOff_ = std::min(2 * nextBackOff_, tuning_.longestBackOff);
  if (refusal.retryAfter) {
    // Not all at the same moment, which is what the server asks everybody for.
    const Duration asked = *refusal.retryAfter;
    wait = std::max(wait, asked + part(asked, random_() / 2));
  }
  lastBackOff_ = now + wait;
  next_ = std::move(then);
  return Wait{now + wait};
}

}  // namespace memqos::kube
