// The metric families: one table is the source of what is exported and of docs/reference/metrics.md.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace memqos::metrics {

enum class Type { counter, gauge, histogram };
std::string_view name(Type type);  // "counter", ...

enum class Family {
  controlWantedBytes,
  controlAppliedBytes,
  controlWantedEnabled,
  controlAppliedEnabled,
  protectionEffectiveBytes,
  usageBytes,
  memoryEvents,
  pressureSomeSeconds,
  throttleEscapes,
  lowValveOpen,
  reclaimRequestedBytes,
  reclaimReclaimedBytes,
  reclaimWrites,
  refaultBytes,
  usageWatermarkBytes,
  pageCacheBytes,
  pageCacheLimitBytes,
  buildInfo,
  pods,
  containers,
  controlWrites,
  drift,
  annotationErrors,
  kernelFeature,
  applySeconds,
  reclaimSeconds,
  loopLagSeconds,
  dropped,
  apiRequests,
  watchRestarts,
  processCpuSeconds,
  processOpenFds,
  processMaxFds,
  processVirtualMemoryBytes,
  processResidentMemoryBytes,
  processStartTimeSeconds,
  processThreads,
};
inline constexpr std::size_t kFamilyCount = 37;

struct FamilyInfo {
  Family family;
  std::string_view name;  // as exported
  Type type;
  std::string_view help;  // one line, no backslash: HELP is written as it is
  // The labels after `namespace pod container` (where perContainer) in this order; "" ends the list.
  std::array<std::string_view, 3> labels;
  bool perContainer = false;
  std::string_view note;  // unit and special values, for the reference
};

std::span<const FamilyInfo> families();  // indexed by Family
const FamilyInfo& info(Family family);
std::span<const std::string_view> containerLabels();  // namespace, pod, container

}  // namespace memqos::metrics
