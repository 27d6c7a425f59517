// Makes the kernel agree with the targets and keeps it so. Owns the state of every held file; lives on the loop's
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/drift.h"
#include "control/high.h"
#include "control/target.h"
#include "control/writer.h"
#include "loop/lane.h"
#include "loop/loop.h"

namespace memqos::control {

// What is known of one file that is held, was held, or is to be held.
struct FileEntry {
  cgroup::Handle cgroup;
  cgroup::File file = cgroup::File::memoryMin;
  Role role = Role::container;
  std::optional<Limit> wanted{};  // nullopt: to be restored
  bool held = false;              // as in Target
  std::optional<Limit> plain{};
  std::optional<Limit> current;   // last seen in the kernel; nullopt: not read yet
  std::optional<Limit> baseline;  // what restore puts back
  Outcome outcome = Outcome::same;
  std::string error;          // of the last outcome that was one
  std::uint64_t escapes = 0;  // memory.high raised because of throttling
  bool stalled = false;       // memory.high could not be lowered in time
};

class Controller {
 public:
  struct Callbacks {
    // After each look or write, for counters and logs.
    std::function<void(const Applied&)> applied;
    // Time from the event that asked for a write to the kernel holding it. trigger: plan, created, drift, escape.
    std::function<void(const std::string& trigger, loop::Duration)> latency;
    // Somebody else wrote a held file; `kubelet` = an ancestor slice, or together with memory.max.
    std::function<void(const FileEntry&, bool kubelet)> drifted;
    // memory.high could not be lowered in 30 s, or was raised because the container was throttled.
    std::function<void(const FileEntry&)> stalled;
    std::function<void(const FileEntry&, Limit raisedTo)> escaped;
    // The targets depend on a value that changed (an ancestor's baseline, a followed kubelet write).
    std::function<void()> replan;
  };

  Controller(loop::Loop& loop, loop::Lane& control, loop::Lane& reclaim, std::shared_ptr<Writer> writer,
             bool canReclaim, Callbacks callbacks);
  // Files of an earlier run's journal: restored by the first setTargets() that does not want them.
  void adopt(const cgroup::Handle& cgroup, cgroup::File file);
  // The whole of what is wanted. What was a target and is none now is restored.
  void setTargets(const std::vector<Target>& targets, const std::string& trigger);
  // A control file of a held cgroup was written by user space.
  void modified(cgroup::Id id, std::string_view file);
  void gone(cgroup::Id id);
  // A throttling sample of a container. Also where the end of the watchdog is noticed: memory.high goes back then.
  void sampled(cgroup::Id id, const HighSample& sample);
  // Puts baselines back: of everything, or (for a stop) only of what must not stay when nobody watches. Nothing is
  // written afterwards.
  enum class Scope { unwatched, everything };
  void finish(Scope scope, std::function<void(std::vector<Applied>)> done);

  [[nodiscard]] const std::map<Key, FileEntry>& files() const { return entries_; }
  [[nodiscard]] const FileEntry* find(cgroup::Id id, cgroup::File file) const;
  // No write under way and none due now.
  [[nodiscard]] bool idle() const { return !busy_ && due_.empty(); }

 private:
  struct Pace {
    RepairPace repair;
    std::optional<loop::TimePoint> notBefore;
    std::string trigger;
    loop::TimePoint since{};
    HighControl high;
    bool look = false;        // read before anything else
    bool reclaiming = false;  // a memory.reclaim of ours is under way
    bool announced = false;   // this run's watchdog was told, where it must be
    loop::Handle timer;
  };
  struct Batch;

  void mark(const Key& key, const std::string& trigger);
  void wake(const Key& key, loop::TimePoint at);
  void pump();
  void collect(const Key& key, Batch& batch);
  void collectHigh(const Key& key, FileEntry& entry, Pace& pace, Batch& batch);
  void submit(const std::shared_ptr<Batch>& batch);
  void retry(const Batch& batch);
  void finished(const Batch& batch);
  void absorb(const Applied& applied);
  void absorbForeign(const Key& key, FileEntry& entry);
  void reclaim(const Key& key, Bytes amount);
  void drop(const Key& key);
  void lostWatchdog();
  void startFinish();

  loop::Loop& loop_;
  loop::Lane& control_;
  loop::Lane& reclaimLane_;
  std::shared_ptr<Writer> writer_;
  bool canReclaim_;
  Callbacks callbacks_;
  std::map<Key, FileEntry> entries_;
  std::map<Key, Pace> paces_;
  std::map<cgroup::Id, loop::TimePoint> maxChanged_;  // memory.max written at
  std::set<Key> due_;
  bool busy_ = false;
  bool pumpPosted_ = false;
  bool suspended_ = false;
  bool watched_;  // there is a watchdog, as far as was noticed
  std::optional<Scope> finishing_;
  std::function<void(std::vector<Applied>)> finishDone_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace memqos::control
