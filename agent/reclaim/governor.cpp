#include "reclaim/governor.h"

#include <algorithm>

namespace memqos::reclaim {
namespace {

constexpr std::int64_t kEnoughPages = 256;  // fewer prove nothing
constexpr double kHot = 0.1;
constexpr double kTooHot = 0.5;
constexpr double kStallFrom = 0.01;
constexpr double kStallMost = 0.05;
constexpr double kTrimStall = 0.001;
constexpr double kTrimPart = 0.0005;

}  // namespace

void Governor::observe(const Vital& vital) {
  window_.push_back(vital);
  while (window_.size() > 2 && window_[1].at <= vital.at - kGovernorWindow) window_.pop_front();
  if (pausedUntil_ && vital.at >= *pausedUntil_) {
    pausedUntil_.reset();
    window_ = {vital};  // judged anew
  }
  if (!pausedUntil_ && hotShare() > kTooHot) pausedUntil_ = vital.at + kGovernorWindow;
}

double Governor::hotShare() const {
  if (window_.size() < 2) return 0;
  const auto stolen = window_.back().stolen - window_.front().stolen;
  const auto restored = window_.back().restored - window_.front().restored;
  return stolen < kEnoughPages ? 0 : static_cast<double>(restored) / static_cast<double>(stolen);
}

double Governor::stall() const {
  if (window_.size() < 2 || window_.back().at <= window_.front().at) return 0;
  const std::chrono::duration<double> time = window_.back().at - window_.front().at;
  const std::chrono::duration<double> memory = window_.back().memoryStall - window_.front().memoryStall;
  const std::chrono::duration<double> io = window_.back().ioStall - window_.front().ioStall;
  return std::max({memory / time, io / time, 0.0});
}

double Governor::rate() const {
  double rate = hotShare() > kHot ? 0.5 : 1;
  // Where the limit is hit, stalls come from too little reclaim, not from too much.
  const bool hit = window_.size() >= 2 && window_.back().limitHits > window_.front().limitHits;
  if (!hit && stall() > kStallFrom) rate *= std::max(0.0, 1 - stall() / kStallMost);
  return rate;
}

Bytes Governor::trim(Bytes usage) const {
  const double calm = std::max(0.0, 1 - stall() / kTrimStall);
  const double rate = hotShare() > kHot ? calm / 2 : calm;
  return Bytes{static_cast<std::int64_t>(static_cast<double>(usage.count) * kTrimPart * rate)}.roundDown(kPage);
}

bool Governor::swapsMuch() const {
  if (window_.size() < 2 || window_.back().at <= window_.front().at) return false;
  const std::chrono::duration<double> time = window_.back().at - window_.front().at;
  const auto out = window_.back().swapUsed - window_.front().swapUsed;
  return static_cast<double>(out.count) / std::max(time.count(), 1.0) > static_cast<double>(kMiB.count);
}

}  // namespace memqos::reclaim
