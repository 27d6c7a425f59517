#include "node/reclaim_sample.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "cgroup/reclaim.h"
#include "cgroup/stat.h"

namespace memqos::node {
namespace {

constexpr std::size_t kCap = 64UL * 1024;

std::optional<cgroup::Pressure> pressureOf(const cgroup::Cgroup& cgroup, const char* file) {
  const auto text = cgroup.read(file);
  const auto pressure = text ? cgroup::parsePressure(*text) : fail(Code::gone, "no file");
  if (!pressure) return std::nullopt;
  return *pressure;
}

// No file: swap is not limited here.
Limit swapRoomOf(const cgroup::Cgroup& cgroup, Bytes used) {
  const auto most = cgroup.readLimit("memory.swap.max");
  if (!most || most->isMax()) return Limit::max();
  return std::max(Bytes{0}, most->bytes() - used);
}

Bytes swapUsedOf(const cgroup::Cgroup& cgroup) {
  const auto used = cgroup.readLimit("memory.swap.current");
  return used ? used->bytes() : Bytes{0};
}

cgroup::ReclaimKind kindOf(reclaim::Mode mode) {
  switch (mode) {
    case reclaim::Mode::file:
      return cgroup::ReclaimKind::file;
    case reclaim::Mode::anon:
      return cgroup::ReclaimKind::anon;
    case reclaim::Mode::mixed:
      break;
  }
  return cgroup::ReclaimKind::any;
}

}  // namespace

reclaim::Stat slowLook(const cgroup::Cgroup& cgroup, const cgroup::Cgroup* pod, bool flush) {
  reclaim::Stat out;
  out.id = cgroup.id();
  if (flush) static_cast<void>(cgroup.read("cpu.stat"));
  const auto usage = cgroup.readLimit("memory.current");
  const auto text = cgroup.read("memory.stat");
  const auto stat = text ? cgroup::parseMemoryStat(*text) : fail(Code::gone, "no file");
  out.gone = !usage || !stat;
  if (out.gone) return out;
  out.usage = usage->bytes();
  out.memory = *stat;
  if (const auto events = cgroup.read("memory.events")) {
    if (const auto parsed = cgroup::parseMemoryEvents(*events)) out.events = *parsed;
  }
  out.memoryPressure = pressureOf(cgroup, "memory.pressure");
  out.ioPressure = pressureOf(cgroup, "io.pressure");
  out.swapUsed = swapUsedOf(cgroup);
  out.swapRoom = swapRoomOf(cgroup, out.swapUsed);
  if (pod != nullptr) out.swapRoom = std::min(out.swapRoom, swapRoomOf(*pod, swapUsedOf(*pod)));
  return out;
}

reclaim::NodeStat nodeStat(const std::string& procRoot) {
  reclaim::NodeStat out;
  if (const auto text = readFile(procRoot + "/meminfo", kCap)) {
    if (const auto info = cgroup::parseMemInfo(*text)) {
      out.swapTotal = info->swapTotal;
      out.swapFree = info->swapFree;
    }
  }
  const auto swaps = readFile(procRoot + "/swaps", kCap);
  out.zramOnly = swaps && onlyZram(*swaps);
  return out;
}

// Filename                                Type            Size            Used            Priority
// /dev/zram0                              partition       262140          0               -2
bool onlyZram(std::string_view swaps) {
  const std::size_t heading = swaps.find('\n');
  std::string_view rest = heading == std::string_view::npos ? std::string_view() : swaps.substr(heading + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0 && !rest.starts_with("/dev/zram")) return false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

Bytes largestReadAhead(const std::string& sysRoot) {
  Bytes most;
  std::error_code error;
  for (std::filesystem::directory_iterator at(sysRoot + "/block", error), end; !error && at != end;
       at.increment(error)) {
    const auto text = readFile(at->path().string() + "/queue/read_ahead_kb", kCap);
    std::int64_t kib = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), kib).ec != std::errc()) continue;
    most = std::max(most, Bytes{std::clamp<std::int64_t>(kib, 0, kGiB.count / 1024) * 1024});
  }
  return most;
}

std::string isolatedCpus(const std::string& sysRoot) {
  for (const char* file : {"isolated", "nohz_full"}) {
    auto text = readFile(sysRoot + "/devices/system/cpu/" + file, kCap);
    while (text && !text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    if (text && !text->empty() && text->find("null") == std::string::npos) return *text;
  }
  return {};
}

KernelHands::KernelHands(cgroup::Handle cgroup) : cgroup_(std::move(cgroup)) {
  if (auto file = cgroup_->open("cgroup.events", O_RDONLY)) events_ = std::move(*file);
  if (auto file = cgroup_->open("memory.current", O_RDONLY)) current_ = std::move(*file);
}

bool KernelHands::populated() {
  const auto text = readFd(events_.get(), "cgroup.events", kCap);
  const auto events = text ? cgroup::parseCgroupEvents(*text) : fail(Code::gone, "no file");
  return events && events->populated;
}

std::optional<Bytes> KernelHands::usage() {
  const auto text = readFd(current_.get(), "memory.current", kCap);
  const auto usage = text ? parseLimit(*text) : fail(Code::gone, "no file");
  if (!usage) return std::nullopt;
  return usage->bytes();
}

std::optional<Bytes> KernelHands::cache() {
  const auto text = cgroup_->read("memory.stat");
  const auto stat = text ? cgroup::parseMemoryStat(*text) : fail(Code::gone, "no file");
  if (!stat) return std::nullopt;
  return std::max(Bytes{0}, stat->pageCache() - stat->fileMapped);
}

reclaim::Write KernelHands::write(Bytes amount, reclaim::Mode mode) {
  const cgroup::ReclaimResult result = cgroup::reclaim(*cgroup_, amount, kindOf(mode));
  return {result.before, result.after, result.sysErrno, result.wall, result.cpu};
}

}  // namespace memqos::node
