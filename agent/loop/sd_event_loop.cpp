#include <systemd/sd-event.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/log.h"
#include "loop/loop.h"
#include "loop/mailbox.h"

namespace memqos::loop {
namespace {

constexpr std::uint64_t kAccuracyUs = 1;  // 0 would mean 250 ms

// Rounded up: a timer never fires early.
std::uint64_t microseconds(TimePoint when) {
  const auto us = std::chrono::ceil<std::chrono::microseconds>(when.time_since_epoch()).count();
  return us < 0 ? 0 : static_cast<std::uint64_t>(us);
}

// One event source and its callback. The handler keeps itself alive, since the callback may drop the last owner.
struct Registration : std::enable_shared_from_this<Registration> {
  std::function<void(std::uint32_t events)> callback;
  sd_event_source* source = nullptr;
  Duration period{};  // every() only
  TimePoint expires;  // timers only

  Registration() = default;
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { cancel(); }
  void cancel() { source = sd_event_source_disable_unref(source); }
};

int onTime(sd_event_source* /*source*/, std::uint64_t /*us*/, void* data) noexcept {
  const auto self = static_cast<Registration*>(data)->shared_from_this();
  self->callback(0);
  if (self->source == nullptr || self->period <= Duration::zero()) return 0;
  self->expires = nextTick(self->expires, self->period, std::chrono::steady_clock::now());
  sd_event_source_set_time(self->source, microseconds(self->expires));
  sd_event_source_set_enabled(self->source, SD_EVENT_ONESHOT);
  return 0;
}

int onIo(sd_event_source* /*source*/, int /*fd*/, std::uint32_t events, void* data) noexcept {
  static_cast<Registration*>(data)->shared_from_this()->callback(events);
  return 0;
}

int onSignalInfo(sd_event_source* /*source*/, const struct signalfd_siginfo* /*info*/, void* data) noexcept {
  static_cast<Registration*>(data)->shared_from_this()->callback(0);
  return 0;
}

Handle handleOf(std::shared_ptr<Registration> registration) {
  return Handle([registration = std::move(registration)] { registration->cancel(); });
}

class SdEventLoop final : public Loop {
 public:
  SdEventLoop(sd_event* event, std::unique_ptr<Mailbox> mailbox) : event_(event), mailbox_(std::move(mailbox)) {}
  SdEventLoop(const SdEventLoop&) = delete;
  SdEventLoop& operator=(const SdEventLoop&) = delete;
  ~SdEventLoop() override {
    mail_.reset();
    sd_event_unref(event_);
  }

  Status start() {
    auto mail = watch(mailbox_->fd(), EPOLLIN, [this](std::uint32_t) {
      for (auto& callback : mailbox_->take()) {
        callback();
        callback = nullptr;
      }
    });
    if (!mail) return tl::unexpected(std::move(mail).error());
    mail_ = std::move(*mail);
    return {};
  }

  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  Handle at(TimePoint when, std::function<void()> callback) override { return addTimer(when, {}, std::move(callback)); }
  Handle every(Duration period, std::function<void()> callback) override {
    return addTimer(now() + period, period, std::move(callback));
  }

  Result<Handle> watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) override {
    auto registration = std::make_shared<Registration>();
    registration->callback = std::move(callback);
    const int r = sd_event_add_io(event_, &registration->source, fd, events, onIo, registration.get());
    if (r < 0) return failErrno(-r, "cannot watch a descriptor");
    return handleOf(std::move(registration));
  }

  Result<Handle> onSignal(int signal, std::function<void()> callback) override {
    auto registration = std::make_shared<Registration>();
    registration->callback = [callback = std::move(callback)](std::uint32_t) { callback(); };
    const int r = sd_event_add_signal(event_, &registration->source, signal, onSignalInfo, registration.get());
    if (r < 0) return failErrno(-r, fmt::format("cannot watch signal {}", signal));
    return handleOf(std::move(registration));
  }

  void post(std::function<void()> callback) override { mailbox_->put(std::move(callback)); }
  int run() override { return sd_event_loop(event_); }
  void stop(int status) override { sd_event_exit(event_, status); }

 private:
  Handle addTimer(TimePoint when, Duration period, std::function<void()> callback) {
    auto registration = std::make_shared<Registration>();
    registration->callback = [callback = std::move(callback)](std::uint32_t) { callback(); };
    registration->period = period;
    registration->expires = when;
    const int r = sd_event_add_time(event_, &registration->source, CLOCK_MONOTONIC, microseconds(when), kAccuracyUs,
                                    onTime, registration.get());
    if (r < 0) {
      // ESTALE: the loop has ended, nothing will ever fire.
      if (r != -ESTALE) log::error("cannot set a timer", {{"errno", -r}});
      return {};
    }
    return handleOf(std::move(registration));
  }

  sd_event* event_;
  std::unique_ptr<Mailbox> mailbox_;
  Handle mail_;
};

}  // namespace

Result<std::unique_ptr<Loop>> makeLoop() {
  auto mailbox = Mailbox::open();
  if (!mailbox) return tl::unexpected(std::move(mailbox).error());
  sd_event* event = nullptr;
  const int r = sd_event_new(&event);
  if (r < 0) return failErrno(-r, "cannot make an event loop");
  auto loop = std::make_unique<SdEventLoop>(event, std::move(*mailbox));
  if (auto started = loop->start(); !started) return tl::unexpected(std::move(started).error());
  return std::unique_ptr<Loop>(std::move(loop));
}

}  // namespace memqos::loop
