#include "cgroup/features.h"

#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/file.h"
#include "cgroup/stat.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451  // include/uapi/asm-generic/unistd.h; the same on every architecture
#endif

namespace memqos::cgroup {

struct ProbeContext {
  const Hierarchy& hierarchy;
  const ProbeOptions& options;
  Handle top;      // the root itself; null if it cannot be opened
  Handle foreign;  // a child of the root that has nothing to do with pods; may be null
  Handle sample;   // any child of the root with the memory controller, for a look only; may be null
};

namespace {

std::string errnoText(int sysErrno) {
  return std::generic_category().message(sysErrno);
}
std::string nameOf(const Handle& cgroup) {
  return cgroup->path().empty() ? "the root" : cgroup->path();
}

Verdict unified(const ProbeContext& context) {
  return {context.hierarchy.version == 2, fmt::format("the memory controller is on cgroup v{} at {}",
                                                      context.hierarchy.version, context.hierarchy.root)};
}

Verdict memoryController(const ProbeContext& context) {
  const auto& list = context.hierarchy.controllers;
  const bool found = std::find(list.begin(), list.end(), "memory") != list.end();
  return {found, fmt::format("cgroup.controllers: {}", fmt::join(list, " "))};
}

// Where a harmless write may go.
Handle reclaimTarget(const ProbeContext& context) {
  if (context.foreign && context.foreign->exists("memory.reclaim")) return context.foreign;
  return context.top;
}

Verdict writeReclaim(const ProbeContext& context, std::string_view text) {
  const Handle target = reclaimTarget(context);
  if (!target) return {false, "the cgroup root cannot be opened", false};
  if (!target->exists("memory.reclaim")) return {false, fmt::format("{} has no memory.reclaim", nameOf(target))};
  const auto status = target->write("memory.reclaim", text);
  return {status.has_value(), fmt::format("memory.reclaim of {}, '{}': {}", nameOf(target), text,
                                          status ? "accepted" : errnoText(status.error().sysErrno))};
}

Verdict reclaim(const ProbeContext& context) {
  return writeReclaim(context, "0");
}
Verdict reclaimSwappinessMax(const ProbeContext& context) {
  return writeReclaim(context, "0 swappiness=max");
}
Verdict reclaimSwappiness(const ProbeContext& context) {
  return writeReclaim(context, "0 swappiness=0");
}

template <const char* file>
Verdict childFile(const ProbeContext& context) {
  if (!context.sample) return {false, "no cgroup with the memory controller below the root to look at", false};
  const bool found = context.sample->exists(file);
  return {found, fmt::format("{} {} {}", nameOf(context.sample), found ? "has" : "has no", file)};
}

constexpr char kSwapMax[] = "memory.swap.max";
constexpr char kSwapHigh[] = "memory.swap.high";
constexpr char kZswapMax[] = "memory.zswap.max";
constexpr char kZswapWriteback[] = "memory.zswap.writeback";
constexpr char kOomGroup[] = "memory.oom.group";
constexpr char kPeak[] = "memory.peak";

Verdict psi(const ProbeContext& context) {
  const Handle& cgroup = context.sample ? context.sample : context.top;
  if (!cgroup) return {false, "the cgroup root cannot be opened", false};
  return pressureVerdict(nameOf(cgroup), cgroup->read("memory.pressure"));
}

// Bit 0 is the main switch (Documentation/admin-guide/mm/multigen_lru.rst).
Verdict mglru(const ProbeContext& context) {
  const std::string path = context.options.sysRoot + "/kernel/mm/lru_gen/enabled";
  auto text = readFile(path, 256);
  if (!text) return {false, fmt::format("{}: {}", path, errnoText(text.error().sysErrno))};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  unsigned bits = 0;
  const std::size_t skip = text->substr(0, 2) == "0x" ? 2 : 0;
  const auto [end, error] = std::from_chars(text->data() + skip, text->data() + text->size(), bits, 16);
  if (error != std::errc() || end != text->data() + text->size()) return {false, fmt::format("{}: '{}'", path, *text)};
  return {(bits & 1U) != 0, fmt::format("{}: {}", path, *text)};
}

Verdict recursiveProtection(const ProbeContext& context) {
  return {context.hierarchy.recursiveProt, fmt::format("{} is mounted {} memory_recursiveprot", context.hierarchy.root,
                                                       context.hierarchy.recursiveProt ? "with" : "without")};
}

// mm/memcontrol.c: MEM_CGROUP_ID_MAX; a cgroup that cannot get an id fails with "no space left on device".
constexpr std::int64_t kMostMemoryCgroups = 65535;

// Removed cgroups whose memory is still charged keep their ids: nodes ran out of them that way.
Verdict cgroupRoom(const ProbeContext& context) {
  const auto whole = readFile(context.options.procRoot + "/cgroups", 64UL * 1024);
  const auto stat = context.top ? context.top->read("cgroup.stat") : fail(Code::gone, "no root");
  const auto all = whole ? parseMemoryCgroups(*whole) : fail(Code::gone, "no file");
  const auto tree = stat ? parseCgroupStat(*stat) : fail(Code::gone, "no file");
  if (!all && !tree) return {false, "neither /proc/cgroups nor cgroup.stat of the root counts memory cgroups", false};
  const std::int64_t dying = tree ? tree->dying : 0;
  const std::int64_t count = std::max(all.value_or(0), tree ? tree->living + dying : 0);
  return {count <= kMostMemoryCgroups / 100 * 95,
          fmt::format("{} of at most {} memory cgroups, {} of them removed but still charged", count,
                      kMostMemoryCgroups, tree ? std::to_string(dying) : "an unknown number")};
}

Verdict directoryWatch(const ProbeContext&) {
  const Fd fd(::inotify_init1(IN_CLOEXEC));
  return {static_cast<bool>(fd), fmt::format("inotify_init1: {}", fd ? "ok" : errnoText(errno))};
}

Verdict memAvailable(const ProbeContext& context) {
  const std::string path = context.options.procRoot + "/meminfo";
  const auto text = readFile(path, 1UL * 1024 * 1024);
  if (!text) return {false, fmt::format("{}: {}", path, errnoText(text.error().sysErrno))};
  const auto info = parseMemInfo(*text);
  if (!info) return {false, fmt::format("{}: {}", path, info.error().sentence)};
  return {true, fmt::format("{}: MemAvailable {}", path, toHuman(info->available))};
}

// A call on a descriptor that is none: EBADF says that the kernel knows the call.
Verdict fromBadDescriptor(const char* call, long result) {
  const int sysErrno = errno;
  return {result >= 0 || sysErrno == EBADF,
          fmt::format("{}: {}", call, result >= 0 || sysErrno == EBADF ? "ok" : errnoText(sysErrno))};
}

Verdict openat2Call(const ProbeContext&) {
  open_how how{};
  how.resolve = RESOLVE_BENEATH;
  return fromBadDescriptor("openat2", ::syscall(SYS_openat2, -1, "x", &how, sizeof how));
}

Verdict cachestatCall(const ProbeContext&) {
  std::array<std::uint64_t, 2> range{};
  std::array<std::uint64_t, 8> result{};
  return fromBadDescriptor("cachestat", ::syscall(SYS_cachestat, -1, range.data(), result.data(), 0U));
}

using Knobs = std::string_view;
constexpr std::array<Knobs, 0> kNone = {};
constexpr std::array<Knobs, 9> kProgrammed = {"memory-min", "memory-low", "memory-high",     "swap-max", "swap-high",
                                              "zswap-max",  "oom-group",  "zswap-writeback", "class"};
constexpr std::array<Knobs, 5> kReclaims = {"memory-high", "reclaim", "reclaim-high", "reclaim-low",
                                            "page-cache-limit"};
constexpr std::array<Knobs, 2> kFileOnly = {"reclaim", "page-cache-limit"};
constexpr std::array<Knobs, 1> kReclaimKnob = {"reclaim"};
constexpr std::array<Knobs, 1> kSwapMaxKnob = {"swap-max"};
constexpr std::array<Knobs, 1> kSwapHighKnob = {"swap-high"};
constexpr std::array<Knobs, 1> kZswapMaxKnob = {"zswap-max"};
constexpr std::array<Knobs, 1> kZswapWritebackKnob = {"zswap-writeback"};
constexpr std::array<Knobs, 1> kOomGroupKnob = {"oom-group"};
constexpr std::array<Knobs, 3> kStalls = {"memory-low", "memory-high", "reclaim"};
constexpr std::array<Knobs, 1> kLowKnob = {"memory-low"};

constexpr std::array kTable = {
    FeatureInfo{"cgroup-v2", "The memory controller is on cgroup v2.", kProgrammed, unified},
    FeatureInfo{"memory-controller", "The root offers the memory controller.", kProgrammed, memoryController},
    FeatureInfo{"memory.reclaim", "Memory can be reclaimed from a cgroup on request (Linux 5.19).", kReclaims, reclaim},
    FeatureInfo{"swappiness-max-argument", "A request can ask for anonymous memory only (Linux 6.16).", kReclaimKnob,
                reclaimSwappinessMax},
    FeatureInfo{"swappiness-argument", "A request can ask for file pages only (Linux 6.11).", kFileOnly,
                reclaimSwappiness},
    FeatureInfo{"memory.swap.max", "Swap is limited per cgroup.", kSwapMaxKnob, childFile<kSwapMax>},
    FeatureInfo{"memory.swap.high", "Swap use is slowed down per cgroup (Linux 5.8).", kSwapHighKnob,
                childFile<kSwapHigh>},
    FeatureInfo{"memory.zswap.max", "Compressed swap is limited per cgroup (Linux 5.19).", kZswapMaxKnob,
                childFile<kZswapMax>},
    FeatureInfo{"memory.zswap.writeback", "zswap can be kept off the swap device per cgroup (Linux 6.8).",
                kZswapWritebackKnob, childFile<kZswapWriteback>},
    FeatureInfo{"memory.oom.group", "The OOM killer can take a cgroup as a whole (Linux 4.19).", kOomGroupKnob,
                childFile<kOomGroup>},
    FeatureInfo{"memory.peak", "The highest usage of a cgroup is recorded (Linux 5.19).", kNone, childFile<kPeak>},
    FeatureInfo{"psi", "Stalls are accounted per cgroup (kernel parameter psi=1).", kStalls, psi},
    FeatureInfo{
        "mglru",
        "The multi-generational LRU is on; memory.low alone protects little there, so it is held as memory.min.",
        kLowKnob, mglru},
    FeatureInfo{"recursive-protection", "Protection that a cgroup does not claim goes to its children (mount option).",
                kNone, recursiveProtection},
    FeatureInfo{"cgroup-room",
                "There is room for more memory cgroups; removed ones that are still charged take it too.", kNone,
                cgroupRoom},
    FeatureInfo{"directory-watch", "Writes of others to control files are seen at once (inotify).", kProgrammed,
                directoryWatch},
    FeatureInfo{"mem-available", "The kernel estimates what can be had without swapping.", kLowKnob, memAvailable},
    FeatureInfo{"openat2", "Paths are opened without ever leaving the cgroup tree (Linux 5.6).", kProgrammed,
                openat2Call},
    FeatureInfo{"cachestat", "The page cache of a file can be counted (Linux 6.5).", kNone, cachestatCall},
};

void pickChildren(const Root& root, ProbeContext& context) {
  if (!context.top) return;
  const auto children = context.top->children();
  if (!children) return;
  for (const auto& child : *children) {
    const bool pods = isKubepods(child) || parsePodPath(child);
    if ((pods && context.sample) || context.foreign) continue;
    const auto cgroup = root.find(child);
    if (!cgroup || !(*cgroup)->exists("memory.current")) continue;
    if (!pods) context.sample = context.foreign = *cgroup;
    if (!context.sample) context.sample = *cgroup;
  }
}

}  // namespace

// Compiled in but off reads as EOPNOTSUPP, not compiled in as ENOENT.
Verdict pressureVerdict(std::string_view cgroup, const Result<std::string>& text) {
  if (!text) return {false, fmt::format("memory.pressure of {}: {}", cgroup, errnoText(text.error().sysErrno))};
  const auto pressure = parsePressure(*text);
  return {pressure.has_value(),
          fmt::format("memory.pressure of {}: {}", cgroup, pressure ? "read" : pressure.error().sentence)};
}

std::span<const FeatureInfo> featureTable() {
  return kTable;
}

std::vector<Feature> probe(const Root& root, const Hierarchy& hierarchy, const ProbeOptions& options) {
  const auto top = root.find("");
  ProbeContext context{hierarchy, options, top ? *top : nullptr, nullptr, nullptr};
  pickChildren(root, context);
  std::vector<Feature> features;
  for (const FeatureInfo& info : kTable) {
    Verdict verdict = info.tryIt(context);
    Feature feature{std::string(info.name), verdict.available, std::move(verdict.evidence), {}, verdict.known};
    feature.neededBy.assign(info.neededBy.begin(), info.neededBy.end());
    features.push_back(std::move(feature));
  }
  return features;
}

namespace {
const Feature* find(const std::vector<Feature>& features, std::string_view name) {
  const auto found = std::find_if(features.begin(), features.end(), [&](const Feature& f) { return f.name == name; });
  return found == features.end() ? nullptr : &*found;
}
}  // namespace

bool has(const std::vector<Feature>& features, std::string_view name) {
  const Feature* feature = find(features, name);
  return feature != nullptr && feature->available;
}

bool lacks(const std::vector<Feature>& features, std::string_view name) {
  const Feature* feature = find(features, name);
  return feature != nullptr && feature->known && !feature->available;
}

}  // namespace memqos::cgroup
