// Pure: how a copy of a part of the API server is kept. What happened goes in, what to do next comes out; whoever
// drives it does one thing at a time. Time and chance are arguments.
//
// First list from the server's watch cache, then watch; after a break watch again from where it ended, and list again
// only when the server no longer knows that place. The store is never emptied by a failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "loop/loop.h"

namespace memqos::kube {

using loop::Duration;
using loop::TimePoint;

struct ReflectorTuning {
  // Thousands of agents that start at once must not list at once.
  Duration startJitter = std::chrono::seconds(1);
  // As client-go's reflector (tools/cache/reflector.go): 0.8 s doubling to 30 s, with jitter, reset after 2 minutes.
  Duration firstBackOff = std::chrono::milliseconds(800);
  Duration longestBackOff = std::chrono::seconds(30);
  Duration health = std::chrono::minutes(2);
  // timeoutSeconds of a watch is chosen between.
  std::chrono::seconds shortestWatch{300};
  std::chrono::seconds longestWatch{600};
  // Bookmarks come every minute (kube-apiserver's cacher.go): a connection without any is half open.
  Duration idle = std::chrono::seconds(150);
  Duration listDeadline = std::chrono::seconds(60);
  // A watch that ended sooner without an event is a failure, whatever the server says.
  Duration shortLife = std::chrono::seconds(1);
  // So many watches in a row without a sign of life: the place may be one that the server never reaches (etcd
  // restored).
  int silentWatches = 2;
  int pageSize = 500;
};

struct Wait {
  TimePoint until;
  bool operator==(const Wait&) const = default;
};
struct List {
  std::string resourceVersion;  // "" = the newest, from etcd
  bool notOlderThan = false;
  int limit = 0;  // 0: one page; the watch cache ignores limits anyway
  std::string continueToken{};
  bool operator==(const List&) const = default;
};
struct Watch {
  std::string resourceVersion;
  std::chrono::seconds timeout{};
  bool operator==(const Watch&) const = default;
};
using Action = std::variant<Wait, List, Watch>;

// Why a list or a watch brought nothing, or ended.
struct Refusal {
  int status = 0;  // HTTP's, or the code of a Status in the stream; 0: no answer at all
  std::optional<std::chrono::seconds> retryAfter{};
  std::string text{};  // for people
};
enum class WatchEnd {
  served,     // the server ended it in order
  broken,     // the connection ended
  idle,       // no line in `idle`
  malformed,  // something that cannot be read
  refused,    // an HTTP status, or a Status in the stream
};
// Words of the metric watch_restarts_total; a 410 is "expired".
std::string_view name(WatchEnd end);

class Reflector {
 public:
  // `random` gives numbers of [0, 1).
  Reflector(ReflectorTuning tuning, std::function<double()> random) : tuning_(tuning), random_(std::move(random)) {}

  [[nodiscard]] Action start(TimePoint now);
  [[nodiscard]] Action waited(TimePoint now);  // the time of a Wait has come
  // A page. Its items belong together with those of the pages before it; the last page has no continueToken and is
  // followed by a Watch: then they replace the store, all at once.
  [[nodiscard]] Action listed(TimePoint now, const std::string& resourceVersion, const std::string& continueToken);
  [[nodiscard]] Action listRefused(TimePoint now, const Refusal& refusal);
  void watchOpened() { problem_.clear(); }  // the server took it
  // A line of the watch: an event or a bookmark.
  void progressed(const std::string& resourceVersion);
  // `refusal` of an end that is `refused`, and for people else.
  [[nodiscard]] Action watchEnded(TimePoint now, WatchEnd end, const Refusal& refusal);

  [[nodiscard]] bool synced() const { return synced_; }  // one whole list came
  // What went wrong last; empty once it works again.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& restarts() const { return restarts_; }

 private:
  [[nodiscard]] List firstPage() const;
  [[nodiscard]] Watch watch(TimePoint now);
  void watchBegins(TimePoint now);
  [[nodiscard]] Action backOff(TimePoint now, Action then, const Refusal& refusal);

  ReflectorTuning tuning_;
  std::function<double()> random_;
  std::string resourceVersion_;
  bool fromEtcd_ = false;  // the watch cache cannot help
  bool synced_ = false;
  Action next_;  // after a Wait
  Duration nextBackOff_{};
  std::optional<TimePoint> lastBackOff_;
  TimePoint watchStarted_{};
  bool watchSpoke_ = false;
  int silent_ = 0;
  std::string problem_;
  std::map<std::string, std::uint64_t> restarts_;
};

}  // namespace memqos::kube
