// The knobs: one table is the source of the parser, the classes, "did you mean", explain and the docs.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace memqos::policy {

enum class Knob {
  klass,
  memoryMin,
  memoryLow,
  memoryHigh,
  swapMax,
  swapHigh,
  zswapMax,
  zswapWriteback,
  oomGroup,
  reclaim,
  reclaimHigh,
  reclaimLow,
  pageCacheLimit,
  dirtyLimit,
  dirtyBackground,
  dirtyThrottle,
  chargeMigration,
};
inline constexpr std::size_t kKnobCount = 17;

// What a percentage is a percentage of.
enum class Whole { none, request, limit, limitOrHigh };
// quantity: bytes. flag: "true" or "false". keyword: one of `keywords`. className: the name of a class.
enum class Form { quantity, flag, keyword, className };
enum class Level { protection, bound, engine };  // bound: memory.high, swap, zswap, oom.group

struct KnobInfo {
  Knob knob;
  std::string_view name;       // as in the annotation: "memory-min"
  std::string_view camelName;  // as in configuration and policies: "memoryMin"
  Form form;
  Whole percentOf;                             // none: no percentage
  std::span<const std::string_view> keywords;  // all that Form::keyword takes; beside a quantity otherwise
  std::string_view file;                       // kernel file, empty for engine knobs
  Level level;
  std::string_view builtinDefault;  // "" = unset
  std::string_view feature;         // name in the feature table that it needs, "" = none
  std::string_view summary;         // one sentence for docs and --help
  bool acts;                        // a value of this knob alone makes the agent touch the pod ("off" never does)
  std::optional<Knob> partOf;       // means nothing unless that knob is set to something other than "off"
};

// Two numbers that may not cross: `knob` is the one that moves, down to `bound`. Only knobs that are set take part.
struct Order {
  Knob knob;
  std::optional<Knob> bound;  // nullopt: the container's limit
  bool below;                 // must stay under the bound, by a page at least
};

std::span<const KnobInfo> knobs();  // indexed by Knob, in the order of the docs
const KnobInfo& info(Knob knob);
std::optional<Knob> findKnob(std::string_view name);       // by annotation name
std::optional<Knob> findKnobCamel(std::string_view name);  // by configuration name
// What somebody who wrote `word` may have meant: another spelling (memoryMin, memory_min, memory.swap.max, Memory-Min)
// or a near miss. nullopt: no idea. Long words cost nothing.
std::optional<std::string> suggestKnob(std::string_view word);

std::span<const Order> orders();  // in the order in which they are applied

// "a quantity (64Mi), a percentage of the limit (50%), auto or max": what the knob takes, for sentences.
std::string describeValues(const KnobInfo& knob);

}  // namespace memqos::policy
