// Pure: a round of reclaim as a job for a lane: a few bounded writes, each looked at before the next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cgroup/cgroup.h"
#include "loop/loop.h"

namespace memqos::reclaim {

using loop::Duration;
using loop::TimePoint;

// Which pages the kernel is asked for: file pages only ("swappiness=0"), as it likes, or anonymous ones only
// ("swappiness=max").
enum class Mode { file, mixed, anon };
std::string_view name(Mode mode);  // "file", "mixed", "anon"

// What is brought down: memory.current, or the page cache that is neither shared memory nor mapped.
enum class What { memory, cache };

// Asked for less, the kernel takes as much all the same: the multi-generational LRU evicts 64 pages at a time
// (mm/vmscan.c, MIN_LRU_BATCH).
inline constexpr Bytes kLeastChunk{256 * 1024};
inline constexpr Bytes kMostChunk = mebibytes(4);
inline constexpr Bytes kMostRound = mebibytes(16);
inline constexpr auto kLongestWrite = std::chrono::milliseconds(10);  // removal of the cgroup may be waiting for it
inline constexpr auto kLongestRound = std::chrono::milliseconds(50);

// How much one write asks for, so that it stays under kLongestWrite: up by a quarter after short writes, halved after a
// long one. Wall time counts, and a write that was kept from running counts as long, since it holds up as long.
class ChunkPace {
 public:
  explicit ChunkPace(Bytes start = kMiB) : chunk_(start) {}
  // `wanted` > 0; at most as much, in whole pages.
  [[nodiscard]] Bytes next(Bytes wanted) const;
  void observe(Bytes asked, Bytes took, Duration wall, Duration cpu);
  [[nodiscard]] Bytes chunk() const { return chunk_; }

 private:
  Bytes chunk_;
  double took_ = 1;  // average of took / asked: up to 6.5 the kernel takes up to twice as much
};

struct Job {
  cgroup::Id id = 0;
  What what = What::memory;
  Mode mode = Mode::mixed;
  Bytes amount;  // asked for at most, over all writes
  Bytes target;  // of what is brought down: never below
  Bytes floor;   // of memory.current: never below
  bool urgent = false;
  ChunkPace pace;
};

// One write and what was seen around it.
struct Write {
  Bytes before, after;  // memory.current
  int sysErrno = 0;
  Duration wall{}, cpu{};
};

struct Done {
  Job job;
  bool ran = true;  // false: the lane was full or gave up; nothing else is known
  bool gone = false;
  bool unpopulated = false;
  std::optional<Bytes> usage;  // memory.current at the end
  std::optional<Bytes> cache;  // of What::cache, at the end
  Bytes asked, taken;
  // The last write: how it ended says what to do next.
  Bytes lastAsked, lastGot;
  int sysErrno = 0;
  ChunkPace pace;
  Duration wall{};               // of the writes together
  std::vector<Duration> writes;  // the wall time of each
  std::map<std::string_view, std::uint64_t> results;
};

// What a round touches: the kernel, or a simulation of it.
class Hands {
 public:
  virtual ~Hands() = default;
  virtual TimePoint now() = 0;
  virtual bool populated() = 0;
  virtual std::optional<Bytes> usage() = 0;  // memory.current; nullopt: gone
  virtual std::optional<Bytes> cache() = 0;  // page cache, neither shared nor mapped
  virtual Write write(Bytes amount, Mode mode) = 0;
};

// "ok", "again" (the amount was not reached), "interrupted", "gone", "failed".
std::string_view resultOf(int sysErrno);

// Writes until the target, the amount or the time is reached, or a write falls short. Never while nobody is in the
// cgroup: the write would hold up its removal, and with it every other cgroup operation of the node.
Done run(const Job& job, Hands& hands);

}  // namespace memqos::reclaim
