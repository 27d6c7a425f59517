#include "node/valve_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "cgroup/stat.h"

namespace memqos::node {
namespace {

constexpr auto kCalmPeriod = std::chrono::seconds(1);
constexpr auto kTightPeriod = std::chrono::milliseconds(100);  // while less than a tenth of memory is available
constexpr auto kReadDeadline = std::chrono::seconds(1);
constexpr std::size_t kCap = 64 * 1024;
// A tenth of a second, all tasks stalled, within one second: kernel/sched/psi.c, "full STALL WINDOW" in microseconds.
constexpr std::string_view kTrigger = "full 100000 1000000";

}  // namespace

control::NodePressure readPressure(const std::vector<HeldLow>& held, const std::string& procRoot) {
  control::NodePressure out;
  if (const auto text = readFile(procRoot + "/pressure/memory", kCap)) {
    if (const auto pressure = cgroup::parsePressure(*text)) out.full = pressure->full;
  }
  if (const auto text = readFile(procRoot + "/vmstat", kCap)) {
    if (const auto stat = cgroup::parseFlatKeyed(*text)) out.oomKills = stat->get("oom_kill");
  }
  if (const auto text = readFile(procRoot + "/meminfo", kCap)) {
    if (const auto info = cgroup::parseMemInfo(*text)) {
      out.available = info->available;
      out.total = info->total;
    }
  }
  for (const HeldLow& one : held) {
    if (const auto usage = one.cgroup->readLimit("memory.current")) out.held += std::min(usage->bytes(), one.held);
  }
  return out;
}

void ValveKeeper::watch(const std::map<std::string, std::vector<HeldLow>>& pods) {
  const bool before = !pods_.empty();
  std::erase_if(pods_, [&](const auto& item) { return !pods.contains(item.first); });
  for (const auto& [uid, held] : pods) pods_[uid].held = held;
  if (before == !pods_.empty()) return;
  if (before) {
    end();
  } else {
    begin();
  }
}

void ValveKeeper::begin() {
  strain_ = {};
  trigger_ = Fd(::open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (trigger_ && ::write(trigger_.get(), kTrigger.data(), kTrigger.size()) == static_cast<ssize_t>(kTrigger.size())) {
    if (auto handle = loop_.watch(trigger_.get(), EPOLLPRI, [this](std::uint32_t events) {
          // An error means that PSI is gone; the timer goes on alone.
          if ((events & EPOLLERR) != 0) triggerHandle_.reset();
          look();
        })) {
      triggerHandle_ = std::move(*handle);
    }
  }
  look();
}

void ValveKeeper::end() {
  timer_.reset();
  triggerHandle_.reset();
  trigger_.reset();
}

void ValveKeeper::look() {
  if (looking_ || pods_.empty()) return;
  std::vector<HeldLow> held;
  for (const auto& [uid, pod] : pods_) {
    if (!open(uid)) held.insert(held.end(), pod.held.begin(), pod.held.end());
  }
  auto result = std::make_shared<control::NodePressure>();
  looking_ = lane_.submit(
      kReadDeadline, [result, held = std::move(held)] { *result = readPressure(held); },
      [this, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome) {
        if (alive.expired()) return;
        looking_ = false;
        judged(*result);
      });
  if (!looking_) timer_ = loop_.after(kCalmPeriod, [this] { look(); });
}

void ValveKeeper::judged(const control::NodePressure& pressure) {
  if (pods_.empty()) return;
  if (const auto reason = strain_.look(loop_.now(), pressure)) trip(node_, "", *reason);
  const bool tight = pressure.within().count < pressure.total.count / 10;
  timer_ = loop_.after(tight ? loop::Duration(kTightPeriod) : loop::Duration(kCalmPeriod), [this] { look(); });
}

void ValveKeeper::podMaxEvents(const std::string& pod, std::int64_t count) {
  const auto found = pods_.find(pod);
  if (found == pods_.end()) return;
  const auto before = std::exchange(found->second.maxEvents, count);
  if (before && count > *before)
    trip(found->second.valve, pod, fmt::format("the pod's own limit was hit {} times", count - *before));
}

void ValveKeeper::trip(control::Valve& valve, const std::string& pod, const std::string& reason) {
  const bool opened = valve.trip(loop_.now());
  settle();
  if (!opened) return;
  if (callbacks_.opened) callbacks_.opened(pod, reason);
  if (callbacks_.changed) callbacks_.changed();
}

// Closes what has been calm for long enough, and comes back for the next.
void ValveKeeper::settle() {
  const loop::TimePoint now = loop_.now();
  std::optional<loop::TimePoint> next;
  bool any = false;
  const auto one = [&](control::Valve& valve, const std::string& pod) {
    if (valve.settle(now)) {
      any = true;
      if (callbacks_.closed) callbacks_.closed(pod);
    }
    if (const auto at = valve.closesAt()) next = std::min(next.value_or(*at), *at);
  };
  one(node_, "");
  for (auto& [uid, pod] : pods_) one(pod.valve, uid);
  if (next) {
    settleTimer_ = loop_.at(*next, [this] { settle(); });
  } else {
    settleTimer_.reset();
  }
  if (any && callbacks_.changed) callbacks_.changed();
}

bool ValveKeeper::open(const std::string& pod) const {
  const auto found = pods_.find(pod);
  return node_.open() || (found != pods_.end() && found->second.valve.open());
}

}  // namespace memqos::node
