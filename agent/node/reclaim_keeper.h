// Drives the reclaim engine: reads what is due, takes slow looks and runs rounds on lanes, and tells what people are to
// know.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "loop/lane.h"
#include "loop/loop.h"
#include "node/reclaim_targets.h"
#include "policy/finding.h"
#include "reclaim/engine.h"
#include "report/snapshot.h"

namespace memqos::node {

class ReclaimKeeper {
 public:
  struct Callbacks {
    std::function<void(loop::Duration)> wrote;  // the wall time of each write
    std::function<void()> dropped;              // a lane was full
    // What stands now of a pod, after a change; for a subject of its own.
    std::function<void(const std::string& uid, std::vector<policy::Finding>)> tell;
  };
  ReclaimKeeper(loop::Loop& loop, loop::Lane& sampleLane, loop::Lane& reclaimLane, const reclaim::Abilities& can,
                Callbacks callbacks);
  // The whole of what is wanted; empty: nothing is read any more.
  void watch(ReclaimTargets targets);
  void woken(cgroup::Id id);  // memory.events changed
  // For the snapshot; nullopt: no engine works on it.
  [[nodiscard]] std::optional<report::ReclaimState> state(cgroup::Id id) const;

 private:
  // Descriptors that stay open: memory.current for the hot path, memory.events so that the kernel reports its changes.
  struct Held {
    cgroup::Handle cgroup, pod;
    Fd current, events;
  };
  void hold(const cgroup::Handle& cgroup, const cgroup::Handle& pod);
  void pump();
  void arm(std::optional<loop::TimePoint> at);
  void lookNext();
  void start(const reclaim::Job& job);
  void judge();
  [[nodiscard]] std::vector<policy::Finding> findingsOf(const std::vector<const ReclaimTarget*>& targets,
                                                        loop::TimePoint now) const;

  loop::Loop& loop_;
  loop::Lane& sampleLane_;
  loop::Lane& reclaimLane_;
  Callbacks callbacks_;
  reclaim::Engine engine_;
  ReclaimTargets targets_;
  std::map<cgroup::Id, const ReclaimTarget*> byId_;  // into targets_
  std::map<cgroup::Id, Held> held_;
  reclaim::Inputs pending_;
  std::deque<cgroup::Id> looks_;  // slow looks that wait
  bool looking_ = false;
  loop::Handle timer_;
  std::optional<loop::TimePoint> timerAt_;
  loop::Handle judgeTimer_;
  std::map<cgroup::Id, loop::TimePoint> impossibleSince_;  // targets with a `why`
  std::map<std::string, std::size_t> told_;                // UID -> how many findings stood
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::node
