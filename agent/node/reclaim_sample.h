// What the reclaim engine is told: slow looks at containers and at the node's swap, and its hands in the kernel. All
// blocking, for lanes.
#pragma once

#include <string>
#include <string_view>

#include "cgroup/cgroup.h"
#include "reclaim/round.h"
#include "reclaim/samples.h"

namespace memqos::node {

// memory.stat, memory.events, pressure and swap of a cgroup; `pod`, if there is one, is looked at for swap only.
// Its time is the caller's to set. `flush`: cpu.stat is read first, which makes memory.stat exact on kernels whose
// statistics are one tree (5.13 to 6.15); it costs a flush of all controllers.
reclaim::Stat slowLook(const cgroup::Cgroup& cgroup, const cgroup::Cgroup* pod, bool flush);

reclaim::NodeStat nodeStat(const std::string& procRoot = "/proc");
// Of /proc/swaps: is there nothing but zram? True for no swap at all.
bool onlyZram(std::string_view swaps);

// The largest window of any block device (queue/read_ahead_kb). A stream has up to two in the page cache that it has
// not used: when it comes to the second, the next is read (mm/readahead.c). 128 KiB for most devices, 8 MiB since
// kernels derive it from the largest request (seen in 7.3).
Bytes largestReadAhead(const std::string& sysRoot = "/sys");

// CPUs that are kept free of such work (isolcpus, nohz_full), as the kernel lists them; empty: none.
std::string isolatedCpus(const std::string& sysRoot = "/sys");

// The real thing: one container's files.
class KernelHands final : public reclaim::Hands {
 public:
  explicit KernelHands(cgroup::Handle cgroup);
  loop::TimePoint now() override { return std::chrono::steady_clock::now(); }
  bool populated() override;
  std::optional<Bytes> usage() override;
  std::optional<Bytes> cache() override;
  reclaim::Write write(Bytes amount, reclaim::Mode mode) override;

 private:
  cgroup::Handle cgroup_;
  Fd events_, current_;  // read before each write
};

}  // namespace memqos::node
