#include "policy/dialects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "policy/complaints.h"

namespace memqos::policy {
namespace {

constexpr auto kAnyBytes = std::numeric_limits<std::int64_t>::max();

// Fields, ranges and meanings of Koordinator: apis/slo/v1alpha1/nodeslo_types.go (MemoryQOS, with its validate tags)
// and pkg/koordlet/qosmanager/plugins/cgreconcile; of nri-plugins: cmd/plugins/memory-qos.
// clang-format off
constexpr std::array<DialectField, 24> kTable = {{
    {Dialect::koordinator, "policy", Meaning::policy, 0, 0, {},
     "`none`: everything off. `auto`: Koordinator's recommended values. `default`, or nothing: only the fields that are written"},
    {Dialect::koordinator, "minLimitPercent", Meaning::requestPercent, 0, 100, Knob::memoryMin,
     "that percentage of the request"},
    {Dialect::koordinator, "lowLimitPercent", Meaning::requestPercent, 0, 100, Knob::memoryLow,
     "that percentage of the request"},
    {Dialect::koordinator, "throttlingPercent", Meaning::throttling, 0, 100, Knob::memoryHigh,
     "request + that percentage of what is between the request and the limit (the node's allocatable memory without a limit), as `auto` with this factor; 0 is `max`"},
    {Dialect::koordinator, "wmarkRatio", Meaning::watermark, 0, 100, Knob::reclaimHigh,
     "that percentage of the smaller of limit and `memory-high`, and `reclaim: watermark`; 0 is `reclaim: off`"},
    {Dialect::koordinator, "wmarkScalePermill", Meaning::watermarkGap, 1, 1000, Knob::reclaimLow,
     "wmarkRatio less that many thousandths; without it the low mark adapts, without wmarkRatio it has no effect. Alibaba's kernel reads the number as hundredths of a percent, memqos as the field's name has it"},
    {Dialect::koordinator, "wmarkMinAdj", Meaning::vendorKernel, -25, 50, {},
     "moving a cgroup's share of the node's own watermarks needs memory.wmark_min_adj of Anolis OS or Alibaba Cloud Linux"},
    {Dialect::koordinator, "pageCacheEnable", Meaning::cacheSwitch, 0, 1, Knob::pageCacheLimit,
     "1 turns the next two on; 0 is `off`"},
    {Dialect::koordinator, "pageCacheLimitSize", Meaning::cacheBytes, 0, kAnyBytes, Knob::pageCacheLimit,
     "that many bytes, at most the limit; wins over the percentage; 0 is none"},
    {Dialect::koordinator, "pageCacheLimitPercent", Meaning::cachePercent, 0, 100, Knob::pageCacheLimit,
     "that percentage of the limit; 0 is none"},
    {Dialect::koordinator, "pageCacheReclaimSync", Meaning::vendorKernel, 0, 1, {},
     "reclaim in the path of the write needs memory.pagecache_limit.sync of Alibaba Cloud Linux; memqos holds the limit in the background"},
    {Dialect::koordinator, "oomKillGroup", Meaning::flag, 0, 1, Knob::oomGroup,
     "1 is `true`, 0 is `false`"},
    {Dialect::koordinator, "priorityEnable", Meaning::vendorKernel, 0, 1, {},
     "an order of victims for the OOM killer needs memory.use_priority_oom of Anolis OS or Alibaba Cloud Linux"},
    {Dialect::koordinator, "priority", Meaning::vendorKernel, 0, 12, {},
     "an order of victims for the OOM killer needs memory.priority of Anolis OS or Alibaba Cloud Linux"},
    {Dialect::nri, "memory.min", Meaning::fileBytes, 0, 0, Knob::memoryMin, "the value"},
    {Dialect::nri, "memory.low", Meaning::fileBytes, 0, 0, Knob::memoryLow, "the value"},
    {Dialect::nri, "memory.high", Meaning::fileBytes, 0, 0, Knob::memoryHigh, "the value"},
    {Dialect::nri, "memory.swap.max", Meaning::fileBytes, 0, 0, Knob::swapMax, "the value"},
    {Dialect::nri, "memory.swap.high", Meaning::fileBytes, 0, 0, Knob::swapHigh, "the value"},
    {Dialect::nri, "memory.zswap.max", Meaning::fileBytes, 0, 0, Knob::zswapMax, "the value"},
    {Dialect::nri, "memory.zswap.writeback", Meaning::fileFlag, 0, 1, Knob::zswapWriteback, "1 is `true`, 0 is `false`"},
    {Dialect::nri, "memory.oom.group", Meaning::fileFlag, 0, 1, Knob::oomGroup, "1 is `true`, 0 is `false`"},
    {Dialect::nri, "memory.max", Meaning::refused, 0, 0, {},
     "memory.max is the kubelet's, from the container's memory limit"},
    {Dialect::nri, "class", Meaning::refused, 0, 0, {},
     "classes of that plugin stand in its own configuration, which memqos does not have"},
}};
// clang-format on

}  // namespace

std::span<const DialectField> dialectFields() {
  return kTable;
}

const DialectField* findDialectField(Dialect dialect, std::string_view name) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(), [&](const DialectField& field) {
    return field.dialect == dialect && field.name == name;
  });
  return row == kTable.end() ? nullptr : row;
}

std::vector<std::string_view> dialectFieldNames(Dialect dialect) {
  std::vector<std::string_view> out;
  for (const DialectField& field : kTable) {
    if (field.dialect == dialect) out.push_back(field.name);
  }
  return out;
}

Dialects readDialects(const Pod& pod, const Settings& settings, std::vector<Finding>& findings) {
  Dialects out;
  const DialectSettings& on = settings.dialects;
  if (!on.koordinator && !on.nri) return out;
  Complaints complaints(pod, findings);
  if (on.nri) readNri(pod, settings, complaints, out);
  if (on.koordinator) {
    for (const Annotation& annotation : pod.annotations) {
      if (annotation.key != kKoordinatorKey) continue;
      if (on.koordletEvidence.empty()) {
        out.koordinator = readKoordinator(annotation, pod, settings, complaints);
      } else {
        complaints.report(annotation, "",
                          {fmt::format("{}, and two agents must not fight over the same files", on.koordletEvidence),
                           "leave dialects.koordinator off where koordlet runs, or write annotations of memqos.io"},
                          Reason::unsupported);
      }
    }
  }
  complaints.close();
  return out;
}

}  // namespace memqos::policy
