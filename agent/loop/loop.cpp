#include "loop/loop.h"

#include <utility>

namespace memqos::loop {

Handle::Handle(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
Handle::Handle(Handle&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    auto theirs = std::exchange(other.cancel_, nullptr);
    reset();
    cancel_ = std::move(theirs);
  }
  return *this;
}
Handle::~Handle() {
  reset();
}

void Handle::reset() {
  // Emptied first: cancelling may destroy the callback that owns this handle.
  if (const auto cancel = std::exchange(cancel_, nullptr)) cancel();
}

TimePoint nextTick(TimePoint previous, Duration period, TimePoint now) {
  if (now < previous) return previous + period;
  return previous + period * ((now - previous) / period + 1);
}

}  // namespace memqos::loop
