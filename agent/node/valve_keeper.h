// Watches the node and the pods for the moment when a held memory.low must be let go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "cgroup/cgroup.h"
#include "control/valve.h"
#include "loop/lane.h"
#include "loop/loop.h"

namespace memqos::node {

// A cgroup that holds a low as min, and how much.
struct HeldLow {
  cgroup::Handle cgroup;
  Bytes held;
};

// What /proc and the held cgroups say; an absent part is left out of the judgement. Blocking for microseconds.
control::NodePressure readPressure(const std::vector<HeldLow>& held, const std::string& procRoot = "/proc");

class ValveKeeper {
 public:
  struct Callbacks {
    std::function<void()> changed;  // some valve opened or closed: apply again
    // To be told: `pod` is a UID, empty for the node's valve.
    std::function<void(const std::string& pod, const std::string& reason)> opened;
    std::function<void(const std::string& pod)> closed;
  };
  ValveKeeper(loop::Loop& loop, loop::Lane& lane, Callbacks callbacks)
      : loop_(loop), lane_(lane), callbacks_(std::move(callbacks)) {}
  // Which pods (UIDs) have a low to hold, and where. None: nothing is read, no trigger is set.
  void watch(const std::map<std::string, std::vector<HeldLow>>& pods);
  // The `max` events of a pod's own limit, whenever they are read: a rise opens the pod's valve.
  void podMaxEvents(const std::string& pod, std::int64_t count);
  [[nodiscard]] bool watches(const std::string& pod) const { return pods_.contains(pod); }
  [[nodiscard]] bool open(const std::string& pod) const;
  [[nodiscard]] bool nodeOpen() const { return node_.open(); }

 private:
  struct Pod {
    control::Valve valve;
    std::vector<HeldLow> held;
    std::optional<std::int64_t> maxEvents;
  };
  void begin();
  void end();
  void look();
  void judged(const control::NodePressure& pressure);
  void trip(control::Valve& valve, const std::string& pod, const std::string& reason);
  void settle();

  loop::Loop& loop_;
  loop::Lane& lane_;
  Callbacks callbacks_;
  std::map<std::string, Pod> pods_;
  control::Valve node_;
  control::NodeStrain strain_;
  bool looking_ = false;
  loop::Handle timer_;
  loop::Handle settleTimer_;
  Fd trigger_;  // PSI: wakes within a stall instead of at the next tick
  loop::Handle triggerHandle_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::node
