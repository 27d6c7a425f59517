#include "control/valve.h"

#include <fmt/format.h>

#include <utility>

namespace memqos::control {

bool Valve::trip(loop::TimePoint now) {
  return !std::exchange(tripped_, now).has_value();
}

bool Valve::settle(loop::TimePoint now) {
  if (!tripped_ || now - *tripped_ < kCalm) return false;
  tripped_.reset();
  return true;
}

std::optional<loop::TimePoint> Valve::closesAt() const {
  if (!tripped_) return std::nullopt;
  return *tripped_ + kCalm;
}

std::optional<std::string> NodeStrain::look(loop::TimePoint now, const NodePressure& pressure) {
  const std::optional<NodePressure> last = std::exchange(last_, pressure);
  if (pressure.total.count > 0 && pressure.within().count < scale(pressure.total, 2, 100).count) {
    return fmt::format("MemAvailable is {} MiB, {} MiB of it held: less than 2 % of the node's memory is left",
                       pressure.available.count / kMiB.count, pressure.held.count / kMiB.count);
  }
  if (last && pressure.oomKills > last->oomKills) return "the kernel killed a process for want of memory";
  if (!windowStart_) {
    windowStart_ = pressure;
    windowStartAt_ = now;
    return std::nullopt;
  }
  std::optional<std::string> reason;
  if (pressure.full && windowStart_->full) {
    const auto stalled = *pressure.full - *windowStart_->full;
    // More than 10 % of a whole window opens it before the window is over.
    const auto window = std::max<loop::Duration>(now - windowStartAt_, kWindow);
    if (stalled * 10 > window) {
      reason = fmt::format("all tasks stalled for memory for {} ms",
                           std::chrono::duration_cast<std::chrono::milliseconds>(stalled).count());
    }
  }
  if (reason || now - windowStartAt_ >= kWindow) {
    windowStart_ = pressure;
    windowStartAt_ = now;
  }
  return reason;
}

}  // namespace memqos::control
