// The one thread that owns state: timers, descriptors, signals and results of lanes, all as callbacks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

namespace memqos::loop {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Owns one registration; destroying or resetting it cancels. Must be used on the loop's thread.
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::function<void()> cancel);
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  void reset();
  explicit operator bool() const { return static_cast<bool>(cancel_); }

 private:
  std::function<void()> cancel_;
};

class Loop {
 public:
  virtual ~Loop() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;  // CLOCK_MONOTONIC
  // Once, at or soon after `when` (accuracy 1 ms). The callback may destroy its own handle.
  virtual Handle at(TimePoint when, std::function<void()> callback) = 0;
  Handle after(Duration delay, std::function<void()> callback) { return at(now() + delay, std::move(callback)); }
  // Every `period` (> 0), first after one period; missed ticks are not made up.
  virtual Handle every(Duration period, std::function<void()> callback) = 0;
  // `events` and the callback's argument are EPOLL* bits (EPOLLIN, EPOLLPRI). The descriptor stays the caller's and
  // must outlive the handle.
  virtual Result<Handle> watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) = 0;
  // The signal must be blocked in every thread before.
  virtual Result<Handle> onSignal(int signal, std::function<void()> callback) = 0;
  // From any thread: run on the loop's thread, in order. The only cross-thread door of a loop.
  virtual void post(std::function<void()> callback) = 0;
  // Until stop(); returns its status (0 to 255), or a negative errno. Once only.
  virtual int run() = 0;
  virtual void stop(int status) = 0;
};

// The first tick of `previous + n * period` after `now`: ticks keep their phase, missed ones are skipped.
TimePoint nextTick(TimePoint previous, Duration period, TimePoint now);

// The real one, on sd-event. Callbacks run one at a time; an exception out of one ends the process. Errors: io.
Result<std::unique_ptr<Loop>> makeLoop();

}  // namespace memqos::loop
