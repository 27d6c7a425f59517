// Typed readers of the kernel's statistics files. Parsed by key: order changes between kernels, unknown keys are
// accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace memqos::cgroup {

// A flat "key value" file. A value that cannot be (negative, underflowed: 2^62 and more) reads as 0 and is counted in
// `absurd`.
struct FlatKeyed {
  std::map<std::string, std::int64_t, std::less<>> values;
  int absurd = 0;
  [[nodiscard]] std::int64_t get(std::string_view key) const;  // 0 where the kernel does not have it
};
Result<FlatKeyed> parseFlatKeyed(std::string_view text);

struct MemoryStat {
  Bytes anon, file, shmem, fileMapped, fileDirty, fileWriteback, activeFile, inactiveFile, unevictable, slabReclaimable;
  std::int64_t pgscan = 0, pgsteal = 0;
  std::int64_t refaultFile = 0, refaultAnon = 0, restoreFile = 0, restoreAnon = 0;  // pages, cumulative
  int absurd = 0;
  // file - shmem, at least 0: page cache as users know it.
  [[nodiscard]] Bytes pageCache() const;
  // Page cache that reclaim can drop at once: not locked, neither dirty nor under writeback.
  [[nodiscard]] Bytes cleanCache() const;
  // What reclaim can take without swap: clean page cache and reclaimable slab. tmpfs is never part of it.
  [[nodiscard]] Bytes reclaimable() const;
};
Result<MemoryStat> parseMemoryStat(std::string_view text);
// Of cgroup v1, which names things differently (Documentation/admin-guide/cgroup-v1/memory.rst): the hierarchical
// `total_` values, with the cgroup's descendants, as v2 has them. v1 tells nothing of slab, refaults and scans.
Result<MemoryStat> parseMemoryStatV1(std::string_view text);

struct MemoryEvents {
  std::int64_t low = 0, high = 0, max = 0, oom = 0, oomKill = 0, oomGroupKill = 0;
};
MemoryEvents memoryEvents(const FlatKeyed& flat);
Result<MemoryEvents> parseMemoryEvents(std::string_view text);

struct Pressure {
  std::chrono::microseconds some{0}, full{0};  // the cumulative totals; averages hide stalls from 6.16 on
};
Result<Pressure> parsePressure(std::string_view text);

struct CgroupEvents {
  bool populated = false;
  bool frozen = false;
};
Result<CgroupEvents> parseCgroupEvents(std::string_view text);

// How many memory cgroups a tree has. A removed cgroup stays until the last page charged to it is gone.
struct CgroupCount {
  std::int64_t living = 0, dying = 0;
};
Result<CgroupCount> parseCgroupStat(std::string_view text);  // cgroup.stat; below the cgroup, without itself
// num_cgroups of the memory controller in /proc/cgroups, dying ones included. Errors: invalid (no such line: 6.15 on
// lists only controllers of v1).
Result<std::int64_t> parseMemoryCgroups(std::string_view text);

struct MemInfo {
  Bytes total, available, swapTotal, swapFree;
};
Result<MemInfo> parseMemInfo(std::string_view text);  // /proc/meminfo

}  // namespace memqos::cgroup
