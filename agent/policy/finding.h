// What is wrong or was changed, told to people: check's rows, Events, log lines, counters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/pod.h"

namespace memqos::policy {

enum class Severity { error, warning };

// One reason = Event reason, metric label and advice class. The table is in reasons.cpp.
enum class Reason {
  invalidAnnotation,     // error: the key is as if absent
  adjustedValue,         // warning: the value was moved by a documented rule
  invalidManifest,       // error: a file or object that cannot be read as what it says it is
  duplicatePod,          // warning: a second manifest of the same pod, ignored
  invalidConfiguration,  // error: the agent's own configuration
  unsupported,           // warning: this node lacks what the knob needs
  unreclaimable,         // warning: background reclaim finds nothing to take above its mark
  floorAboveMark,        // warning: what must be kept reaches the mark of background reclaim
};
struct ReasonInfo {
  Reason reason;
  std::string_view name;  // "InvalidAnnotation", ...
  Severity severity;
  std::string_view summary;  // one sentence for docs
};
std::span<const ReasonInfo> reasons();  // indexed by Reason
std::string_view name(Reason reason);
Severity severityOf(Reason reason);

struct Finding {
  Reason reason = Reason::invalidAnnotation;
  std::string nameSpace;
  std::string pod;
  std::string uid;
  std::string container;  // empty: the whole pod
  std::string key;        // the annotation or configuration key, as written
  std::string value;      // as written, cut to 256 bytes
  std::string problem;    // a sentence: what is wrong or what was changed, e.g. "'64MB' is not a quantity of bytes"
  std::string advice;     // what would be right, e.g. "write 64M or 64Mi", "did you mean memory-min?"
  Source source;          // position of the value
  bool operator==(const Finding& other) const {
    return reason == other.reason && nameSpace == other.nameSpace && pod == other.pod && uid == other.uid &&
           container == other.container && key == other.key && value == other.value && problem == other.problem &&
           advice == other.advice;
  }
};

// At most `bytes` bytes of `text`, never ending inside a UTF-8 sequence.
std::string_view cut(std::string_view text, std::size_t bytes);
// Outside text inside a sentence: 'text', cut to 64 bytes, with everything escaped that could leave the quotes or the
// line.
std::string inQuotes(std::string_view text);
// Outside text that may be long, as a finding keeps it: cut to 256 bytes, "..." after what was cut.
std::string kept(std::string_view text);

}  // namespace memqos::policy
