// The part of the configuration that decisions depend on; config/ fills it, tests write it as literals.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/units.h"
#include "document/node.h"
#include "policy/knobs.h"

namespace memqos::policy {

// Raw knob texts of a class, of the defaults or of a policy, with the place of each.
struct KnobTexts {
  struct Text {
    std::string value;
    document::Position position;
    std::string file;
  };
  std::map<Knob, Text> texts;
};

struct Guardrails {
  Percent maxShareMin{50'000'000'000};  // of allocatable, for the ancestors of all pods together
  Percent maxShareLow{80'000'000'000};
  Bytes smallestHigh = mebibytes(64);
  bool swapMayRaise = false;
  bool freezeAllowed = false;
  std::optional<std::map<std::string, std::set<Knob>>> knobsByNamespace;  // nullopt: all knobs everywhere
};

// Annotations of other agents that are read too, below memqos' own.
struct DialectSettings {
  bool koordinator = false;  // koordinator.sh/memoryQOS
  bool nri = false;          // FILE.memory-qos.nri.io
  // Why Koordinator's is refused on this node although it is on: two agents must not fight over the same files.
  // Empty: it is not.
  std::string koordletEvidence;
};

struct Settings {
  KnobTexts defaults;
  std::map<std::string, KnobTexts> classes;
  Guardrails guardrails;
  std::int64_t throttlingFactorPermille = 900;  // 0.9; KEP-2570's factor in (0, 1]
  DialectSettings dialects;
  // RuntimeClasses whose pods are a virtual machine or a sandbox to the host; "NAME*" stands for all that begin so.
  std::vector<std::string> sandboxedRuntimeClasses = {"kata*", "gvisor*", "runsc*"};
  // Standalone pods may name their cgroups; from an API server that key is refused.
  bool cgroupKeysAllowed = false;
};

}  // namespace memqos::policy
