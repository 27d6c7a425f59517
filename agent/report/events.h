// Findings -> Events: each finding is told once until it changes, and no pod can flood the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "policy/finding.h"

namespace memqos::report {

// What a Kubernetes Event carries; in standalone mode it becomes a log record with the same reason.
struct Event {
  std::string reason;  // "InvalidAnnotation", ...
  policy::Severity severity = policy::Severity::warning;
  std::string nameSpace, pod, uid;
  std::string container;  // empty: about the whole pod
  std::string message;
  std::string at{};  // FILE:LINE:COLUMN of a manifest or of the configuration; empty for API objects
  bool operator==(const Event&) const = default;
};
Event toEvent(const policy::Finding& finding);
// One record on the log: an error's level is error, the others' warning.
void writeLog(const Event& event);

// Per pod a token bucket: `burst` at once, then one every `refill`. The shape and the defaults of client-go's
// EventSourceObjectSpamFilter (tools/record/events_cache.go: 25, 1/300 s).
struct EventRate {
  double burst = 25;
  std::chrono::seconds refill{300};
};

// Not thread-safe; time is given, so that it only has to be monotonic.
class EventFilter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit EventFilter(EventRate rate = {}) : rate_(rate) {}

  // All findings that stand now for `subject` (a pod's UID, a file's name). Returns the events to tell: findings that
  // were not among the last ones told. What the rate holds back is counted and offered again at the next call.
  std::vector<Event> update(const std::string& subject, std::span<const policy::Finding> findings, Time now);
  // The subject is gone: its memory is freed.
  void forget(const std::string& subject) { subjects_.erase(subject); }
  // How many times an event was held back so far.
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  struct Subject {
    std::vector<policy::Finding> told;
    double tokens = 0;
    Time refilled;
  };
  EventRate rate_;
  std::map<std::string, Subject> subjects_;
  std::uint64_t held_ = 0;
};

}  // namespace memqos::report
