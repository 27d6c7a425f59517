// Annotations of other agents that memqos reads where the configuration turns that on: Koordinator's
// `koordinator.sh/memoryQOS` (a JSON object) and nri-plugins' `FILE.memory-qos.nri.io[/CONTAINER]` (raw values of
// kernel files). One table says what becomes of each field.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/annotations.h"

namespace memqos::policy {

inline constexpr std::string_view kKoordinatorKey = "koordinator.sh/memoryQOS";
inline constexpr std::string_view kNriSuffix = ".memory-qos.nri.io";

enum class Dialect { koordinator, nri };

// What a field is to memqos.
enum class Meaning {
  // of Koordinator: whole numbers but for `policy`
  policy,          // a template that the other fields are written over
  requestPercent,  // of the request, for `knob`
  throttling,      // percent of what is between request and limit
  watermark,       // percent of the smaller of limit and memory.high
  watermarkGap,    // thousandths under the watermark
  cacheSwitch,     // turns the next two on
  cacheBytes,
  cachePercent,  // of the limit
  flag,
  vendorKernel,  // no stock kernel has it
  // of nri-plugins: what the kernel file takes
  fileBytes,
  fileFlag,
  refused,
};

struct DialectField {
  Dialect dialect;
  std::string_view name;
  Meaning meaning;
  std::int64_t least;  // of whole numbers
  std::int64_t most;
  std::optional<Knob> knob;
  std::string_view summary;  // for the docs: what it becomes; of vendorKernel and refused: why nothing, as a sentence
};

std::span<const DialectField> dialectFields();
const DialectField* findDialectField(Dialect dialect, std::string_view name);  // nullptr: there is none
std::vector<std::string_view> dialectFieldNames(Dialect dialect);

// What the dialects that are on ask for, highest rank first.
struct Dialects {
  std::map<std::string, Layer, std::less<>> nriContainers;
  Layer nriPod;
  Layer koordinator;
};

// What cannot be used becomes findings, as with our own annotations: InvalidAnnotation where the author can put it
// right, Unsupported where no node or not this one can.
Dialects readDialects(const Pod& pod, const Settings& settings, std::vector<Finding>& findings);

// One annotation of each, for readDialects().
class Complaints;
Layer readKoordinator(const Annotation& annotation, const Pod& pod, const Settings& settings, Complaints& complaints);
void readNri(const Pod& pod, const Settings& settings, Complaints& complaints, Dialects& out);

// What the kernel's page_counter_memparse() takes: "max", or decimal digits and one of K, M, G, T, P, E in either case,
// which are powers of 1024. Without the octal and hexadecimal numbers and the white space that the kernel takes too.
tl::expected<Limit, BadText> parseKernelBytes(std::string_view text);

}  // namespace memqos::policy
