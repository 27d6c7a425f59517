#include "policy/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "policy/suggest.h"

namespace memqos::policy {
namespace {

using Words = std::string_view;
constexpr std::array<Words, 1> kMax = {"max"};
constexpr std::array<Words, 2> kAutoMax = {"auto", "max"};
constexpr std::array<Words, 1> kOff = {"off"};
constexpr std::array<Words, 4> kReclaim = {"off", "watermark", "pressure", "auto"};
constexpr std::array<Words, 4> kThrottle = {"auto", "squeeze", "freeze", "none"};
constexpr std::array<Words, 4> kMigration = {"off", "file", "anon", "all"};

// The source of everything that is said or decided about a knob as such.
// clang-format off
constexpr std::array<KnobInfo, kKnobCount> kTable = {{
    {Knob::klass, "class", "class", Form::className, Whole::none, {}, "", Level::engine, "", "",
     "Takes every knob that is not set from that class of the agent's configuration.", false, {}},
    {Knob::memoryMin, "memory-min", "memoryMin", Form::quantity, Whole::request, {}, "memory.min", Level::protection, "", "memory-controller",
     "Memory that the kernel never reclaims from the container.", true, {}},
    {Knob::memoryLow, "memory-low", "memoryLow", Form::quantity, Whole::request, {}, "memory.low", Level::protection, "", "memory-controller",
     "Memory that the kernel reclaims only when nothing unprotected is left.", true, {}},
    {Knob::memoryHigh, "memory-high", "memoryHigh", Form::quantity, Whole::limit, kAutoMax, "memory.high", Level::bound, "", "memory-controller",
     "Above it the kernel slows the container down and reclaims from it; `auto` is the formula of KEP-2570.", true, {}},
    {Knob::swapMax, "swap-max", "swapMax", Form::quantity, Whole::limit, kMax, "memory.swap.max", Level::bound, "", "memory.swap.max",
     "Most swap that the container may use.", true, {}},
    {Knob::swapHigh, "swap-high", "swapHigh", Form::quantity, Whole::limit, kMax, "memory.swap.high", Level::bound, "", "memory.swap.high",
     "Swap use above which the kernel slows the container down.", true, {}},
    {Knob::zswapMax, "zswap-max", "zswapMax", Form::quantity, Whole::limit, kMax, "memory.zswap.max", Level::bound, "", "memory.zswap.max",
     "Most compressed memory that the container may keep in zswap.", true, {}},
    {Knob::zswapWriteback, "zswap-writeback", "zswapWriteback", Form::flag, Whole::none, {}, "memory.zswap.writeback", Level::bound, "", "memory.zswap.writeback",
     "Whether zswap may write the container's pages to the swap device.", true, {}},
    {Knob::oomGroup, "oom-group", "oomGroup", Form::flag, Whole::none, {}, "memory.oom.group", Level::bound, "", "memory.oom.group",
     "Whether the OOM killer kills the whole container, or one process of it.", true, {}},
    {Knob::reclaim, "reclaim", "reclaim", Form::keyword, Whole::none, kReclaim, "", Level::engine, "off", "memory.reclaim",
     "Background reclaim, so that the container's own threads do not stall in it; `auto` uses watermarks, slowed by pressure and refaults.", true, {}},
    {Knob::reclaimHigh, "reclaim-high", "reclaimHigh", Form::quantity, Whole::limitOrHigh, {}, "", Level::engine, "", "memory.reclaim",
     "Usage at which background reclaim starts; without it the mark adapts.", false, Knob::reclaim},
    {Knob::reclaimLow, "reclaim-low", "reclaimLow", Form::quantity, Whole::limitOrHigh, {}, "", Level::engine, "", "memory.reclaim",
     "Usage at which background reclaim stops; without it the mark adapts.", false, Knob::reclaim},
    {Knob::pageCacheLimit, "page-cache-limit", "pageCacheLimit", Form::quantity, Whole::limit, kOff, "", Level::engine, "", "memory.reclaim",
     "Most page cache that is neither shared memory nor mapped, held by reclaim of file pages.", true, {}},
    {Knob::dirtyLimit, "dirty-limit", "dirtyLimit", Form::quantity, Whole::limit, kOff, "", Level::engine, "", "",
     "Most dirty pages and pages under writeback.", true, {}},
    {Knob::dirtyBackground, "dirty-background", "dirtyBackground", Form::quantity, Whole::limit, kOff, "", Level::engine, "", "",
     "Dirty pages at which writeout starts; half of dirty-limit by default.", true, {}},
    {Knob::dirtyThrottle, "dirty-throttle", "dirtyThrottle", Form::keyword, Whole::none, kThrottle, "", Level::engine, "auto", "",
     "How dirty-limit is held once writeout alone does not: `squeeze` takes headroom away for a moment, `freeze` stops the container for slices of at most 200 ms where the operator allows it.", false, Knob::dirtyLimit},
    {Knob::chargeMigration, "charge-migration", "chargeMigration", Form::keyword, Whole::none, kMigration, "", Level::engine, "off", "",
     "Which memory may be moved to the cgroup that uses it.", true, {}},
}};
// clang-format on

constexpr std::array<Order, 7> kOrders = {{
    {Knob::swapHigh, Knob::swapMax, false},
    {Knob::pageCacheLimit, {}, false},
    {Knob::reclaimHigh, {}, false},
    {Knob::reclaimHigh, Knob::memoryHigh, true},
    {Knob::reclaimLow, Knob::reclaimHigh, true},
    {Knob::dirtyLimit, {}, false},
    {Knob::dirtyBackground, Knob::dirtyLimit, false},
}};

constexpr bool tableIsIndexed() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].knob) != i) return false;
  }
  return true;
}
static_assert(tableIsIndexed());

// A container name is the longest word that belongs into a key.
constexpr std::size_t kLongestWord = 63;

std::string_view whole(Whole of) {
  switch (of) {
    case Whole::none:
      return "";
    case Whole::request:
      return "a percentage of the request (50%)";
    case Whole::limit:
      return "a percentage of the limit (50%)";
    case Whole::limitOrHigh:
      return "a percentage of the smaller of limit and memory-high (80%)";
  }
  return "";
}

std::optional<Knob> find(std::string_view KnobInfo::*member, std::string_view word) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(), [&](const KnobInfo& k) { return k.*member == word; });
  if (row == kTable.end() || word.empty()) return std::nullopt;
  return row->knob;
}

// "Memory_Min" -> "memory-min": what people write who know the kernel's or YAML's habits.
std::string dashed(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z';
    out += c == '_' || c == '.' || c == ' ' ? '-' : static_cast<char>(upper ? c - 'A' + 'a' : c);
  }
  return out;
}

}  // namespace

std::span<const KnobInfo> knobs() {
  return kTable;
}
const KnobInfo& info(Knob knob) {
  return kTable[static_cast<std::size_t>(knob)];
}
std::optional<Knob> findKnob(std::string_view name) {
  return find(&KnobInfo::name, name);
}
std::optional<Knob> findKnobCamel(std::string_view name) {
  return find(&KnobInfo::camelName, name);
}
std::span<const Order> orders() {
  return kOrders;
}

std::optional<std::string> suggestKnob(std::string_view word) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  if (const auto knob = findKnobCamel(word)) return std::string(info(*knob).name);
  if (const auto knob = find(&KnobInfo::file, word)) return std::string(info(*knob).name);
  const std::string tidy = dashed(word);
  if (const auto knob = findKnob(tidy)) return std::string(info(*knob).name);
  // memory-swap-max, memory-oom-group: the kernel's name with dashes.
  constexpr std::string_view kPrefix = "memory-";
  if (tidy.starts_with(kPrefix)) {
    if (const auto knob = findKnob(std::string_view(tidy).substr(kPrefix.size()))) return std::string(info(*knob).name);
  }
  std::array<std::string_view, kKnobCount> names;
  std::transform(kTable.begin(), kTable.end(), names.begin(), [](const KnobInfo& k) { return k.name; });
  return nearest(tidy, names);
}

std::string describeValues(const KnobInfo& knob) {
  if (knob.form == Form::flag) return "true or false";
  if (knob.form == Form::className) return "the name of a class";
  std::vector<std::string> parts;
  if (knob.form == Form::quantity) parts.emplace_back("a quantity (64Mi)");
  if (knob.percentOf != Whole::none) parts.emplace_back(whole(knob.percentOf));
  parts.insert(parts.end(), knob.keywords.begin(), knob.keywords.end());
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  }
  return out;
}

}  // namespace memqos::policy
