// A simulation of cgroups under a virtual clock, and of the node's part around the engine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reclaim/engine.h"

namespace memqos::reclaim {

// A cgroup as far as reclaim can tell.
struct FakeCgroup {
  cgroup::Id id = 1;
  Bytes limit = mebibytes(64);
  Bytes anon{}, shmem{}, locked{};   // locked: in `file`, never reclaimable
  Bytes clean{}, dirty{}, mapped{};  // page cache; `mapped` is part of `clean`
  Bytes swapMost{};                  // of anon and shmem that may still be swapped
  double reads = 0;                  // bytes of page cache charged a second
  double writes = 0;                 // bytes of dirty page cache a second
  double allocates = 0;              // bytes of anonymous memory a second
  double cleans = 0;                 // bytes a second that writeback cleans
  double hotShare = 0;               // of what is taken, how much comes back at once
  Bytes staleFile{};                 // memory.stat shows that much page cache that is not there
  bool populated = true;
  bool stuckFile = false;  // file-only reclaim scans nothing

  std::int64_t hits = 0, stolen = 0, restored = 0;
  Bytes least = Limit::max().bytes();  // usage after each write of the agent
  int kernelWrites = 0;
  std::map<Mode, int> modes;
  Duration longestGap{};
  TimePoint served{};
  double ahead = 0;  // seconds that rounds have already let pass here

  [[nodiscard]] Bytes usage() const { return anon + shmem + locked + clean + dirty; }
  void advance(double seconds);
  Bytes take(Bytes amount, Mode mode);  // how much was freed
  [[nodiscard]] cgroup::MemoryStat stat() const;
};

class FakeWorld {
 public:
  explicit FakeWorld(Abilities can = {true, true, mebibytes(1), 2}) : engine(can) {}
  FakeCgroup& add(const FakeCgroup& cgroup, Wanted wanted);
  void begin() { engine.want(now, wanted, pods); }
  // Lets time pass; the engine is woken as it asks.
  void run(Duration time);
  FakeCgroup& at(cgroup::Id id) { return cgroups.at(id); }
  [[nodiscard]] View view(cgroup::Id id) const { return engine.view(id).value(); }

  TimePoint now{std::chrono::hours(1)};
  Engine engine;
  std::map<cgroup::Id, FakeCgroup> cgroups;
  std::vector<Wanted> wanted;
  std::vector<WantedPod> pods;
  std::map<cgroup::Id, std::vector<cgroup::Id>> members;
  NodeStat node{};
  Duration statDelay = std::chrono::milliseconds(2);
  double bytesPerSecond = 1e9;  // how fast the kernel reclaims
  int steps = 0, looks = 0, stats = 0;

 private:
  struct Hand;
  void moveTo(TimePoint to);
  void oneStep();
  Done execute(const Job& job, TimePoint begin);
  [[nodiscard]] Stat statOf(cgroup::Id id) const;
  [[nodiscard]] Bytes usageOf(cgroup::Id id) const;

  Inputs pending_;
  std::multimap<TimePoint, Done> ends_;
  std::multimap<TimePoint, cgroup::Id> statEnds_;
  std::map<cgroup::Id, std::int64_t> hitsSeen_;
  TimePoint toldAt_{};
  std::map<cgroup::Id, TimePoint> wokenAt_;
  bool woken_ = false;
};

}  // namespace memqos::reclaim
