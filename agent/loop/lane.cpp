#include "loop/lane.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "loop/signals.h"

#ifndef sigev_notify_thread_id  // glibc 2.36 has the field, not its name
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace memqos::loop {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRepeat = 20ms;  // a signal that comes just before the system call begins is lost: hence again
constexpr Duration kLongest = std::chrono::hours(24 * 365);

int cancelSignal() {
  return SIGRTMIN + 4;
}

// An empty handler without SA_RESTART: the signal's only effect is EINTR.
void installCancelSignal() {
  static const bool kInstalled = [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    return ::sigaction(cancelSignal(), &action, nullptr) == 0;
  }();
  (void)kInstalled;
}

// A kernel timer that signals one thread. It needs no thread of its own, and once disarm() has returned no signal is
// under way, so that the next job is never interrupted for the last one.
class Interrupter {
 public:
  Interrupter() = default;
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;
  ~Interrupter() { remove(); }
  // Aims at the calling thread. False: the kernel has no timer left.
  bool create() {
    struct sigevent event {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = cancelSignal();
    event.sigev_notify_thread_id = ::gettid();
    exists_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    return exists_;
  }
  void arm(Duration delay) { set(std::max<Duration>(delay, 1ns), kRepeat); }
  void disarm() { set({}, {}); }
  void remove() {
    if (std::exchange(exists_, false)) ::timer_delete(timer_);
  }

 private:
  void set(Duration delay, Duration repeat) {
    const auto spec = [](Duration d) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d);
      return timespec{seconds.count(), (d - seconds).count()};
    };
    const itimerspec value{.it_interval = spec(repeat), .it_value = spec(delay)};
    if (exists_) ::timer_settime(timer_, 0, &value, nullptr);
  }
  timer_t timer_{};
  bool exists_ = false;
};

struct Job {
  Duration deadline{};
  std::function<void()> work;               // touched by the worker only
  std::function<void(Lane::Outcome)> done;  // called on the loop only, taken once
};

struct Worker {
  std::thread thread;
  Interrupter interrupter;
  pid_t tid = 0;
  std::shared_ptr<Job> job;  // null: idle
  TimePoint started;
  bool lost = false;
  bool exited = false;
};

// The thread's state letter in /proc: D is uninterruptible sleep. '?' if it cannot be read.
char threadState(pid_t tid) {
  const Fd file(::open(fmt::format("/proc/self/task/{}/stat", tid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> buffer{};
  const auto length = file ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
  const std::string_view text(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const auto end = text.rfind(") ");  // the name before it may hold anything
  return end == std::string_view::npos || end + 2 >= text.size() ? '?' : text[end + 2];
}

// Shared with the workers, so that one that was given up on may still come back to it. `mutex` guards everything below
// it.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(Loop& loop, std::string name, unsigned threads, std::size_t capacity, Duration grace)
      : loop_(loop), name_(std::move(name)), capacity_(capacity), grace_(grace), wanted_(threads), spare_(threads) {}

  void start() {
    const std::lock_guard lock(mutex_);
    for (unsigned i = 0; i < wanted_; ++i) spawn();
  }

  bool submit(std::shared_ptr<Job> job) {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= capacity_ || live() == 0) {
      ++stats_.dropped;
      return false;
    }
    queue_.push_back(std::move(job));
    wake_.notify_one();
    return true;
  }

  LaneStats stats() const {
    const std::lock_guard lock(mutex_);
    LaneStats stats = stats_;
    stats.queued = queue_.size();
    return stats;
  }

  // On the loop: gives up on threads that do not come back. False: nothing runs or waits.
  bool check() {
    const std::lock_guard lock(mutex_);
    reap();
    const TimePoint now = std::chrono::steady_clock::now();
    const std::size_t count = workers_.size();  // replacements come after
    for (std::size_t i = 0; i < count; ++i) {
      if (overdue(*workers_[i], now)) lose(*workers_[i]);
    }
    if (live() == 0) {
      for (auto& job : std::exchange(queue_, {})) report(std::move(job->done), Lane::Outcome::lost);
    }
    return !queue_.empty() ||
           std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->job && !w->lost; });
  }

  void stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (const auto& worker : workers_) {
      if (worker->job) worker->interrupter.arm({});
    }
    wake_.notify_all();
    const auto settled = [&] {
      return std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->exited || w->lost; });
    };
    idle_.wait_for(lock, grace_, settled);
    // Callbacks die on the loop's thread, also those of threads that stay behind.
    const auto queued = std::exchange(queue_, {});
    std::vector<std::function<void(Lane::Outcome)>> callbacks;
    for (const auto& worker : workers_) {
      if (worker->job) callbacks.push_back(std::exchange(worker->job->done, nullptr));
    }
    const auto workers = std::exchange(workers_, {});
    std::vector<std::thread*> finished;
    for (const auto& worker : workers) {
      if (worker->exited) {
        finished.push_back(&worker->thread);
      } else {
        log::warning("a worker thread did not stop and is left behind",
                     {{"lane", name_}, {"tid", worker->tid}, {"state", threadState(worker->tid)}});
        worker->thread.detach();
      }
    }
    lock.unlock();
    for (auto* thread : finished) thread->join();
  }

 private:
  void spawn() {
    auto worker = std::make_shared<Worker>();
    const SignalsBlocked blocked;
    try {
      worker->thread = std::thread([pool = shared_from_this(), worker] { pool->serve(*worker); });
    } catch (const std::system_error& e) {
      log::error("cannot start a worker thread", {{"lane", name_}, {"error", e.code().message()}});
      return;
    }
    workers_.push_back(std::move(worker));
  }

  void serve(Worker& self) {
    ::pthread_setname_np(::pthread_self(), name_.substr(0, 15).c_str());
    sigset_t cancel;
    ::sigemptyset(&cancel);
    ::sigaddset(&cancel, cancelSignal());
    ::pthread_sigmask(SIG_UNBLOCK, &cancel, nullptr);
    std::unique_lock lock(mutex_);
    self.tid = ::gettid();
    if (!self.interrupter.create())
      log::error("deadlines cannot interrupt this lane", {{"lane", name_}, {"errno", errno}});
    for (bool stays = true; stays;) {
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) break;
      self.job = std::move(queue_.front());
      queue_.pop_front();
      self.started = std::chrono::steady_clock::now();
      self.interrupter.arm(self.job->deadline);
      lock.unlock();
      self.job->work();
      const TimePoint ended = std::chrono::steady_clock::now();
      self.interrupter.disarm();
      self.job->work = nullptr;  // the values end on the thread that used them
      lock.lock();
      stays = finish(self, ended);
    }
    self.interrupter.remove();
    self.exited = true;
    idle_.notify_all();
  }

  // False: the thread is one too many.
  bool finish(Worker& self, TimePoint ended) {
    const auto job = std::exchange(self.job, nullptr);
    if (!std::exchange(self.lost, false)) {
      const bool late = ended - self.started >= job->deadline;
      ++(late ? stats_.timedOut : stats_.done);
      report(std::move(job->done), late ? Lane::Outcome::late : Lane::Outcome::done);
      return true;
    }
    if (live() <= wanted_) return true;  // itself included
    ++spare_;
    return false;
  }

  // The caller holds the mutex, which stop() also takes: so the loop is still there.
  void report(std::function<void(Lane::Outcome)> done, Lane::Outcome outcome) {
    if (stopping_) return;
    loop_.post([pool = shared_from_this(), done = std::move(done), outcome] {
      if (!pool->stopping_) done(outcome);  // written on this thread only
    });
  }

  bool overdue(const Worker& worker, TimePoint now) const {
    return worker.job && !worker.lost && now - worker.started >= worker.job->deadline + grace_;
  }

  void lose(Worker& worker) {
    worker.lost = true;
    ++stats_.lostThreads;
    ++stats_.timedOut;
    log::warning("a worker thread does not return",
                 {{"lane", name_}, {"tid", worker.tid}, {"state", threadState(worker.tid)}});
    report(std::exchange(worker.job->done, nullptr), Lane::Outcome::lost);
    if (spare_ == 0) return;
    --spare_;
    spawn();
  }

  void reap() {
    std::erase_if(workers_, [](const auto& worker) {
      if (!worker->exited) return false;
      worker->thread.join();  // has let go of the mutex, or is about to end
      return true;
    });
  }

  std::size_t live() const {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return !w->lost && !w->exited; }));
  }

  Loop& loop_;
  const std::string name_;
  const std::size_t capacity_;
  const Duration grace_;
  const std::size_t wanted_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::size_t spare_;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::deque<std::shared_ptr<Job>> queue_;
  LaneStats stats_;
  bool stopping_ = false;
};

class ThreadLane final : public Lane {
 public:
  ThreadLane(Loop& loop, std::shared_ptr<Pool> pool, Duration grace)
      : loop_(loop), pool_(std::move(pool)), checkPeriod_(std::clamp<Duration>(grace / 4, 10ms, 1s)) {}
  ThreadLane(const ThreadLane&) = delete;
  ThreadLane& operator=(const ThreadLane&) = delete;
  ~ThreadLane() override {
    check_.reset();
    pool_->stop();
  }

  bool submit(Duration deadline, std::function<void()> work, std::function<void(Outcome)> done) override {
    auto job = std::make_shared<Job>();
    job->deadline = std::clamp<Duration>(deadline, Duration::zero(), kLongest);
    job->work = std::move(work);
    job->done = std::move(done);
    if (!pool_->submit(std::move(job))) return false;
    if (!check_) {  // ticks only while there is work
      check_ = loop_.every(checkPeriod_, [this] {
        if (!pool_->check()) check_.reset();
      });
    }
    return true;
  }

  [[nodiscard]] LaneStats stats() const override { return pool_->stats(); }

 private:
  Loop& loop_;
  std::shared_ptr<Pool> pool_;
  Duration checkPeriod_;
  Handle check_;
};

}  // namespace

std::unique_ptr<Lane> makeLane(Loop& loop, std::string name, unsigned threads, std::size_t capacity, Duration grace) {
  installCancelSignal();
  auto pool = std::make_shared<Pool>(loop, std::move(name), std::max(threads, 1U), capacity, grace);
  pool->start();
  return std::make_unique<ThreadLane>(loop, std::move(pool), grace);
}

}  // namespace memqos::loop
