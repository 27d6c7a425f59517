// A container's plan while the rules work on it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "policy/annotations.h"
#include "policy/basis.h"
#include "policy/plan.h"

namespace memqos::policy {

struct Draft {
  const Container* spec = nullptr;
  ContainerFacts facts;
  Basis basis;
  ContainerPlan plan;
  std::array<const Ask*, kKnobCount> asks{};  // the source that won; nullptr: nothing asks

  struct Changes {
    std::vector<std::string> sentences;
    std::string advice;  // of the last one
  };
  std::array<Changes, kKnobCount> changes;

  [[nodiscard]] const Ask* ask(Knob knob) const { return asks[static_cast<std::size_t>(knob)]; }
  Changes& changesOf(Knob knob) { return changes[static_cast<std::size_t>(knob)]; }
  // The number that is wanted so far; nullopt for words too.
  [[nodiscard]] std::optional<Limit> number(Knob knob) const { return plan.wantedLimit(knob); }

  // A rule moves the number from what is wanted so far: "memory-low 1Gi BECAUSE: lowered to 512Mi".
  void move(Knob knob, Limit to, const std::string& because, std::string advice);
  // A rule changes something else; `sentence` says it all.
  void change(Knob knob, KnobValue to, std::string sentence, std::string advice);
};

inline constexpr const char* kNoLimit = "there is no limit, and the node's allocatable memory is not known here";

// "the limit 128Mi", "the node's allocatable memory 8Gi".
std::string limitText(const Basis& basis);

// What nothing else decides: texts to values, percentages taken, down to a page. Values that need another knob's result
// (memory-high's `auto`, percentages of memory-high) stay empty.
void evaluate(Draft& draft, const NodeFacts& node);
// One knob's value as above; nullopt: the whole that a percentage is of is not known.
std::optional<KnobValue> valueOf(const Asked& asked, const std::optional<Limit>& whole, Bytes page);

}  // namespace memqos::policy
