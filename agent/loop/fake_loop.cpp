#include "loop/fake_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace memqos::loop {

struct FakeLoop::State {
  struct Timer {
    Duration period;
    std::shared_ptr<std::function<void()>> callback;  // copied before the call, which may drop the handle
  };
  struct Watch {
    std::uint32_t events;
    std::shared_ptr<std::function<void(std::uint32_t)>> callback;
  };
  using Key = std::pair<TimePoint, std::uint64_t>;  // when, and the order of setting
  std::map<Key, Timer> timers;
  std::map<std::uint64_t, Key> keys;  // the timer's number -> where it is now
  std::map<int, Watch> watches;
  std::map<int, std::shared_ptr<std::function<void()>>> signals;
  std::uint64_t last = 0;
};

FakeLoop::FakeLoop(TimePoint start) : now_(start), state_(std::make_shared<State>()) {}
FakeLoop::~FakeLoop() = default;

Handle FakeLoop::add(TimePoint when, Duration period, std::function<void()> callback) {
  const std::uint64_t number = ++state_->last;
  const State::Key key{when, number};
  state_->timers.emplace(key, State::Timer{period, std::make_shared<std::function<void()>>(std::move(callback))});
  state_->keys[number] = key;
  return Handle([state = std::weak_ptr(state_), number] {
    const auto s = state.lock();
    if (!s) return;
    const auto found = s->keys.find(number);
    if (found == s->keys.end()) return;
    const auto timer = s->timers.extract(found->second);  // destroyed last: it may own other handles
    s->keys.erase(found);
  });
}

Handle FakeLoop::at(TimePoint when, std::function<void()> callback) {
  return add(when, {}, std::move(callback));
}
Handle FakeLoop::every(Duration period, std::function<void()> callback) {
  return add(now_ + period, period, std::move(callback));
}

Result<Handle> FakeLoop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) {
  if (state_->watches.contains(fd)) return failErrno(EEXIST, "cannot watch a descriptor");
  state_->watches[fd] = {events, std::make_shared<std::function<void(std::uint32_t)>>(std::move(callback))};
  return Handle([state = std::weak_ptr(state_), fd] {
    if (const auto s = state.lock()) const auto watch = s->watches.extract(fd);
  });
}

Result<Handle> FakeLoop::onSignal(int signal, std::function<void()> callback) {
  if (state_->signals.contains(signal)) return failErrno(EBUSY, "cannot watch a signal");
  state_->signals[signal] = std::make_shared<std::function<void()>>(std::move(callback));
  return Handle([state = std::weak_ptr(state_), signal] {
    if (const auto s = state.lock()) const auto watch = s->signals.extract(signal);
  });
}

void FakeLoop::post(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  posts_.push_back(std::move(callback));
}

void FakeLoop::settle() {
  for (;;) {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(posts_);
    }
    if (batch.empty()) return;
    for (const auto& callback : batch) callback();
  }
}

bool FakeLoop::runNextTimer(TimePoint latest) {
  const auto first = state_->timers.begin();
  if (first == state_->timers.end() || first->first.first > latest) return false;
  const auto [when, number] = first->first;
  const State::Timer timer = first->second;
  state_->timers.erase(first);
  now_ = std::max(now_, when);
  if (timer.period > Duration::zero()) {
    const State::Key next{nextTick(when, timer.period, now_), number};
    state_->timers.emplace(next, timer);
    state_->keys[number] = next;
  } else {
    state_->keys.erase(number);
  }
  (*timer.callback)();
  settle();
  return true;
}

void FakeLoop::advance(Duration duration) {
  const TimePoint end = now_ + duration;
  settle();
  while (runNextTimer(end)) {
  }
  now_ = end;
}

int FakeLoop::run() {
  settle();
  while (!stopped_ && runNextTimer(TimePoint::max())) {
  }
  return stopped_.value_or(-1);
}

bool FakeLoop::trigger(int fd, std::uint32_t events) {
  const auto found = state_->watches.find(fd);
  if (found == state_->watches.end()) return false;
  const std::uint32_t wanted = events & (found->second.events | EPOLLERR | EPOLLHUP);
  if (wanted == 0) return false;
  const auto callback = found->second.callback;
  (*callback)(wanted);
  settle();
  return true;
}

bool FakeLoop::raise(int signal) {
  const auto found = state_->signals.find(signal);
  if (found == state_->signals.end()) return false;
  const auto callback = found->second;
  (*callback)();
  settle();
  return true;
}

std::uint32_t FakeLoop::watched(int fd) const {
  const auto found = state_->watches.find(fd);
  return found == state_->watches.end() ? 0 : found->second.events;
}

std::optional<TimePoint> FakeLoop::nextTimer() const {
  if (state_->timers.empty()) return std::nullopt;
  return state_->timers.begin()->first.first;
}

std::size_t FakeLoop::timers() const {
  return state_->timers.size();
}

}  // namespace memqos::loop
