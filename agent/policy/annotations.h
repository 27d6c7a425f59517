// The pod's annotations and the configuration's texts, as layers of what is asked: parsed once, each with its origin.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/finding.h"
#include "policy/plan.h"
#include "policy/pod.h"
#include "policy/settings.h"
#include "policy/value.h"

namespace memqos::policy {

// One knob's text of one source, its grammar already checked.
struct Ask {
  Asked value;
  std::string text;
  Origin origin;
  std::string key;  // for findings: the annotation, or "classes.gold.memoryMin"
  Source source;
  // Of "auto" for memory-high: a factor of its own in place of the configured one.
  std::optional<std::int64_t> factorPermille{};

  // Of a quantity: the word that stands for a formula.
  [[nodiscard]] bool isAuto() const {
    const auto* word = std::get_if<std::string>(&value);
    return word != nullptr && *word == "auto";
  }
};
// What one source asks for; knobs that it does not set are absent, bad ones too.
using Layer = std::map<Knob, Ask>;

struct Annotations {
  bool managed = true;  // false: opted out, nothing else was looked at
  Layer pod;
  std::map<std::string, Layer, std::less<>> containers;
};

// What is wrong with a knob that the operator does not let the pod's namespace use; nullopt: it may.
std::optional<BadText> forbidden(Knob knob, const Pod& pod, const Settings& settings);

// Keys of memqos.io that cannot be used become findings, at most 64 of them and one that counts the rest: a pod's
// author must not be able to flood anybody.
Annotations readAnnotations(const Pod& pod, const Settings& settings, std::vector<Finding>& findings);

// A class, the defaults, or another source of the operator's. `path` is where it stands in the configuration
// ("classes.gold"). Bad texts become findings of reason invalidConfiguration about `pod`.
Layer readTexts(const KnobTexts& texts, const Origin& origin, const std::string& path, const Pod& pod,
                const Settings& settings, std::vector<Finding>& findings);

}  // namespace memqos::policy
