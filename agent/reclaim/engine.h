// Pure: background reclaim of all containers, as steps: no thread, no clock, no I/O. The caller reads memory.current of
// what is due, hands in what it saw and what rounds did, and runs the jobs that come out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "reclaim/container.h"

namespace memqos::reclaim {

// At most so many containers are looked at more often than every kShortestPoll.
inline constexpr std::size_t kMostFast = 16;

struct Inputs {
  std::vector<Usage> usages;
  std::vector<Stat> stats;
  std::vector<cgroup::Id> lostStats;  // asked for, and not to come
  std::vector<Done> done;
  std::optional<NodeStat> node;
};

struct Step {
  std::vector<Job> jobs;            // to be run now, each on a thread of its own
  std::vector<cgroup::Id> stats;    // slow looks to take
  std::optional<TimePoint> wakeAt;  // step again then, if nothing happens before; none: nothing is wanted
};

class Engine {
 public:
  explicit Engine(const Abilities& can) : can_(can) {}
  // The whole of what is wanted. Containers that stay keep what was learnt.
  void want(TimePoint now, const std::vector<Wanted>& containers, const std::vector<WantedPod>& pods);
  // Containers and pods whose memory.current is to be read before the next step.
  [[nodiscard]] std::vector<cgroup::Id> due(TimePoint now) const;
  // memory.events of a container or pod changed: it is due now.
  void wake(TimePoint now, cgroup::Id id);
  Step step(TimePoint now, const Inputs& inputs);

  [[nodiscard]] std::optional<View> view(cgroup::Id id) const;
  [[nodiscard]] const Abilities& abilities() const { return can_; }
  [[nodiscard]] std::size_t size() const { return containers_.size(); }

 private:
  struct Item {
    Container container;
    TimePoint dueAt{};
    std::optional<Job> ready{};
    std::uint64_t turn = 0;
    Bytes share{};
  };
  struct Pod {
    Level level;
    std::vector<cgroup::Id> members{};
    Bytes taken{};
    std::optional<Stat> adaptedAt{};
    std::optional<TimePoint> statAt{};
    bool statAsked = false;
    std::optional<TimePoint> lastWake{};
    TimePoint dueAt{};
  };
  using Touched = std::set<cgroup::Id>;

  void schedule(TimePoint& dueAt, cgroup::Id id, TimePoint at);
  void absorb(TimePoint now, const Inputs& inputs, Touched& touched);
  void absorbDone(TimePoint now, const Done& done, Touched& touched);
  void absorbPodStat(Pod& pod, const Stat& stat);
  void judgePod(TimePoint now, cgroup::Id id, Pod& pod, Touched& touched, Step& out);
  void decide(TimePoint now, cgroup::Id id, Step& out);
  void dispatch(Step& out);
  [[nodiscard]] std::map<cgroup::Id, Item>::iterator pick();
  [[nodiscard]] bool busy(const Pod& pod) const;
  bool mayBeFast(cgroup::Id id, bool wants);
  void forget(cgroup::Id id);

  Abilities can_;
  NodeStat node_;
  std::map<cgroup::Id, Item> containers_;
  std::map<cgroup::Id, Pod> pods_;
  std::set<std::pair<TimePoint, cgroup::Id>> queue_;
  std::set<cgroup::Id> ready_;
  std::set<cgroup::Id> fast_;
  std::size_t running_ = 0;
  std::uint64_t turn_ = 0;
  int urgentInARow_ = 0;
};

}  // namespace memqos::reclaim
