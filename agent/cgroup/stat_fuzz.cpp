// The kernel's statistics files, as a newer or a hostile kernel (gVisor, Kata, lxcfs) may write them.
#include "cgroup/stat.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  if (const auto flat = cgroup::parseFlatKeyed(text)) {
    require(flat->absurd >= 0, "absurd values are counted");
    for (const auto& [key, value] : flat->values) {
      require(!key.empty() && value >= 0 && flat->get(key) == value, "no counter is negative");
    }
  }
  if (const auto stat = cgroup::parseMemoryStat(text)) {
    require(stat->pageCache() >= Bytes{0} && stat->pageCache() <= stat->file, "page cache is part of file");
    require(stat->refaultFile >= 0 && stat->restoreFile >= 0, "no counter is negative");
  }
  if (const auto pressure = cgroup::parsePressure(text)) {
    require(pressure->some.count() >= 0 && pressure->full.count() >= 0, "no stall is negative");
  }
  if (const auto info = cgroup::parseMemInfo(text)) {
    for (const Bytes bytes : {info->total, info->available, info->swapTotal, info->swapFree}) {
      require(bytes >= Bytes{0}, "no memory is negative");
    }
  }
  static_cast<void>(cgroup::parseMemoryEvents(text));
  static_cast<void>(cgroup::parseCgroupEvents(text));
  return 0;
}
