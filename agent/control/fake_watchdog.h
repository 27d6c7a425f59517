// For tests: a watchdog that remembers what it was told.
#pragma once

#include <map>
#include <utility>

#include "control/target.h"
#include "control/watchdog.h"

namespace memqos::control {

class FakeWatchdog final : public Watchdog {
 public:
  struct Held {
    Limit ours;
    Limit previous;  // either is undone, as by the real one
    Limit restore;
    std::optional<loop::TimePoint> undoAt;
  };
  using Watchdog::hold;
  Status hold(const cgroup::Cgroup& cgroup, cgroup::File file, Limit ours, Limit restore,
              std::optional<loop::TimePoint> undoAt) override {
    if (!alive) return fail(Code::unsupported, "no watchdog");
    Held& entry = held.try_emplace({cgroup.id(), file}, Held{ours, ours, restore, undoAt}).first->second;
    if (entry.ours != ours) entry.previous = entry.ours;
    entry.ours = ours;
    entry.restore = restore;
    entry.undoAt = undoAt;
    return {};
  }
  void release(const cgroup::Cgroup& cgroup, cgroup::File file) override { held.erase({cgroup.id(), file}); }
  [[nodiscard]] bool available() const override { return alive; }

  bool alive = true;
  std::map<Key, Held> held;
};

}  // namespace memqos::control
