// Findings as Events of the API server (events.k8s.io/v1): one for each finding, paced, never waited for.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>

#include "document/node.h"
#include "kube/source.h"
#include "kube/transport/transport.h"
#include "loop/lane.h"
#include "loop/loop.h"
#include "report/events.h"

namespace memqos::kube {

// The object to be created. Its name follows from what it says, so that the same finding, told again after a restart of
// the agent or sent twice by the library below, is the same object. Cut to what the API server allows (note 1024 bytes,
// reportingInstance 128, name 253; k8s.io/kubernetes/pkg/apis/core/validation/events.go).
document::Node eventBody(const report::Event& event, const std::string& node,
                         std::chrono::system_clock::time_point now);

// "2026-11-30T17:23:42.000123Z", as metav1.MicroTime.
std::string microTime(std::chrono::system_clock::time_point time);

struct EventPace {
  double burst = 25;  // as client-go's
  std::chrono::seconds refill{1};
  std::size_t longestQueue = 256;
  std::chrono::seconds firstBackOff{2};
  std::chrono::seconds longestBackOff{60};
};

// On the loop's thread. The lane must end before it.
class EventWriter {
 public:
  EventWriter(loop::Loop& loop, loop::Lane& lane, std::shared_ptr<Transport> transport, std::string node,
              std::stop_token stop, EventPace pace = {});
  void tell(const report::Event& event);
  // Too many at once, or refused for good.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] const RequestCounts& requests() const { return requests_; }

 private:
  struct Waiting {
    report::Event event;
    std::chrono::system_clock::time_point when;
  };
  void next();
  void send();
  void answered(const Result<Response>& result);
  void retry(std::chrono::seconds wait);

  loop::Loop& loop_;
  loop::Lane& lane_;
  std::shared_ptr<Transport> transport_;
  std::string node_;
  std::stop_token stop_;
  EventPace pace_;
  std::deque<Waiting> queue_;
  bool busy_ = false;  // one is sent, or a time is waited for
  double tokens_;
  loop::TimePoint refilled_;
  std::chrono::seconds backOff_;
  bool complained_ = false;
  std::uint64_t dropped_ = 0;
  RequestCounts requests_;
  loop::Handle timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::kube
