#include "metrics/families.h"

namespace memqos::metrics {
namespace {

constexpr std::array<std::string_view, 3> kContainerLabels = {"namespace", "pod", "container"};
constexpr std::string_view kMax = "`+Inf` for \"max\"";
constexpr std::string_view kFlag = "1 or 0";

using F = Family;
constexpr std::array<FamilyInfo, kFamilyCount> kFamilies = {{
    {F::controlWantedBytes,
     "memqos_control_wanted_bytes",
     Type::gauge,
     "Value that memqos wants in a control file of the container's cgroup.",
     {"file", ""},
     true,
     kMax},
    {F::controlAppliedBytes,
     "memqos_control_applied_bytes",
     Type::gauge,
     "Value that the control file of the container's cgroup holds, as last read or written.",
     {"file", ""},
     true,
     kMax},
    {F::controlWantedEnabled,
     "memqos_control_wanted_enabled",
     Type::gauge,
     "Flag that memqos wants in a control file of the container's cgroup.",
     {"file", ""},
     true,
     kFlag},
    {F::controlAppliedEnabled,
     "memqos_control_applied_enabled",
     Type::gauge,
     "Flag that the control file of the container's cgroup holds, as last read or written.",
     {"file", ""},
     true,
     kFlag},
    {F::protectionEffectiveBytes,
     "memqos_protection_effective_bytes",
     Type::gauge,
     "Protection that holds for the container if it and all its siblings use theirs fully, after every ancestor's "
     "share.",
     {"file", ""},
     true,
     "bytes; less than wanted means that an ancestor takes it away"},
    {F::usageBytes,
     "memqos_usage_bytes",
     Type::gauge,
     "Memory charged to the container's cgroup (memory.current).",
     {"", ""},
     true,
     "bytes, sampled every 5 s"},
    {F::memoryEvents,
     "memqos_memory_events_total",
     Type::counter,
     "Events of the container's cgroup (memory.events).",
     {"event", ""},
     true,
     "since the cgroup was made"},
    {F::pressureSomeSeconds,
     "memqos_pressure_some_seconds_total",
     Type::counter,
     "Time in which at least one task of the container waited for memory (memory.pressure, some).",
     {"", ""},
     true,
     "seconds since the cgroup was made"},
    {F::throttleEscapes,
     "memqos_throttle_escapes_total",
     Type::counter,
     "Times that memory.high was raised because the container did not get out of its throttling.",
     {"", ""},
     true,
     ""},
    {F::lowValveOpen,
     "memqos_low_valve_open",
     Type::gauge,
     "Whether a memory.low that is held as memory.min is let go because the node or the pod is short of memory.",
     {"", ""},
     true,
     "1 or 0; only where it is held so"},
    {F::reclaimRequestedBytes,
     "memqos_reclaim_requested_bytes_total",
     Type::counter,
     "Memory that background reclaim asked the kernel to take from the container.",
     {"", ""},
     true,
     "since the agent started; only containers with `reclaim` or `page-cache-limit`, as for all of reclaim"},
    {F::reclaimReclaimedBytes,
     "memqos_reclaim_reclaimed_bytes_total",
     Type::counter,
     "Memory that background reclaim got from the container.",
     {"", ""},
     true,
     "since the agent started"},
    {F::reclaimWrites,
     "memqos_reclaim_writes_total",
     Type::counter,
     "Writes to the container's memory.reclaim.",
     {"mode", "result"},
     true,
     "modes: `file`, `mixed`, `anon`; results: `ok`, `again` (less than asked), `interrupted`, `gone`, `failed`"},
    {F::refaultBytes,
     "memqos_refault_bytes_total",
     Type::counter,
     "Memory that was reclaimed from the container by anybody and read again soon (workingset_refault_*).",
     {"", ""},
     true,
     "since the cgroup was made"},
    {F::usageWatermarkBytes,
     "memqos_usage_watermark_bytes",
     Type::gauge,
     "Usage at which background reclaim starts and stops, and above which it is urgent.",
     {"mark", ""},
     true,
     "marks: `start`, `stop`, `urgent`; they follow growth and limit hits unless they are set"},
    {F::pageCacheBytes,
     "memqos_page_cache_bytes",
     Type::gauge,
     "Page cache of the container without shared memory.",
     {"mapped", ""},
     true,
     "`true` and `false`; page-cache-limit holds `false`"},
    {F::pageCacheLimitBytes,
     "memqos_page_cache_limit_bytes",
     Type::gauge,
     "The container's page-cache-limit.",
     {"", ""},
     true,
     ""},
    {F::buildInfo,
     "memqos_build_info",
     Type::gauge,
     "The running version of the agent.",
     {"version", ""},
     false,
     "always 1"},
    {F::pods,
     "memqos_pods",
     Type::gauge,
     "Pods that the agent knows, by state.",
     {"state", ""},
     false,
     "`managed`, `waiting` (a container without a cgroup), `unmanaged` (asks for nothing), `opted_out`"},
    {F::containers,
     "memqos_containers",
     Type::gauge,
     "Containers of managed pods, by state.",
     {"state", ""},
     false,
     "`programmed`, `waiting`"},
    {F::controlWrites,
     "memqos_control_writes_total",
     Type::counter,
     "Writes to control files, by their result.",
     {"file", "result"},
     false,
     "results: `written`, `mismatch` (the kernel took another value), `failed`, `unsupported`, `unwatched` (no "
     "watchdog), "
     "`unjournaled`, `left_alone` (a restore found somebody else's value), `gone`"},
    {F::drift,
     "memqos_drift_total",
     Type::counter,
     "Values that somebody else wrote over ours and that were repaired.",
     {"file", ""},
     false,
     ""},
    {F::annotationErrors,
     "memqos_annotation_errors_total",
     Type::counter,
     "Findings about annotations and manifests, by reason.",
     {"reason", ""},
     false,
     "the reasons of the Events, such as `InvalidAnnotation`"},
    {F::kernelFeature,
     "memqos_kernel_feature",
     Type::gauge,
     "Whether this node has a feature that memqos can use.",
     {"feature", ""},
     false,
     "1 or 0, none where it could not be tried; the names are those of `memqos-agent probe`"},
    {F::applySeconds,
     "memqos_apply_seconds",
     Type::histogram,
     "Time from the cause of a change to the last kernel write that it needed.",
     {"trigger", ""},
     false,
     "seconds"},
    {F::reclaimSeconds,
     "memqos_reclaim_seconds",
     Type::histogram,
     "Time that one write to memory.reclaim took.",
     {"", ""},
     false,
     "seconds of wall time; a removal of the container may wait as long"},
    {F::loopLagSeconds,
     "memqos_loop_lag_seconds",
     Type::histogram,
     "How late the event loop was for its timers.",
     {"", ""},
     false,
     "seconds"},
    {F::dropped,
     "memqos_dropped_total",
     Type::counter,
     "What was left out to keep the agent's own cost bounded.",
     {"what", ""},
     false,
     "`series`: time series cut from a scrape by `metrics.maxSeries` or as duplicates; `collect`: parts of a scrape "
     "that failed; `events`: findings held back by the rate limit; `api`: Events that were not written; `inotify`: "
     "overflows, after which everything is "
     "looked at again; `watch`: cgroups that could not be watched; `jobs`, `sample`, `survey`: work that found its "
     "queue "
     "full"},
    {F::apiRequests,
     "memqos_api_requests_total",
     Type::counter,
     "Requests to the API server, by the HTTP status of the answer.",
     {"verb", "resource", "code"},
     false,
     "a request without an answer has a word as its code: `timeout`, `denied` (TLS), `io`, `again` (stopped), "
     "`invalid` (a "
     "redirect)"},
    {F::watchRestarts,
     "memqos_watch_restarts_total",
     Type::counter,
     "Watches of the API server that ended and were begun anew.",
     {"reason", ""},
     false,
     "`served` (the server ends each after some minutes), `broken` (the connection), `idle` (silent for too long), "
     "`expired` (410: listed again), `refused`, `malformed`"},
    {F::processCpuSeconds,
     "process_cpu_seconds_total",
     Type::counter,
     "User and system CPU time spent by the agent.",
     {"", ""},
     false,
     "seconds"},
    {F::processOpenFds, "process_open_fds", Type::gauge, "Open file descriptors of the agent.", {"", ""}, false, ""},
    {F::processMaxFds,
     "process_max_fds",
     Type::gauge,
     "Limit of open file descriptors of the agent.",
     {"", ""},
     false,
     ""},
    {F::processVirtualMemoryBytes,
     "process_virtual_memory_bytes",
     Type::gauge,
     "Virtual memory of the agent.",
     {"", ""},
     false,
     "bytes"},
    {F::processResidentMemoryBytes,
     "process_resident_memory_bytes",
     Type::gauge,
     "Resident memory of the agent.",
     {"", ""},
     false,
     "bytes"},
    {F::processStartTimeSeconds,
     "process_start_time_seconds",
     Type::gauge,
     "When the agent was started.",
     {"", ""},
     false,
     "seconds since the epoch"},
    {F::processThreads, "process_threads", Type::gauge, "Threads of the agent.", {"", ""}, false, ""},
}};

constexpr bool indexedByFamily() {
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (static_cast<std::size_t>(kFamilies[i].family) != i) return false;
  }
  return true;
}
static_assert(indexedByFamily());

// prometheus-cpp writes HELP as it is: a line break or a backslash would break the page.
constexpr bool helpIsOneLine() {
  for (const FamilyInfo& row : kFamilies) {
    if (row.help.find_first_of("\n\r\\") != std::string_view::npos) return false;
  }
  return true;
}
static_assert(helpIsOneLine());

}  // namespace

std::string_view name(Type type) {
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
  }
  return "";
}

std::span<const FamilyInfo> families() {
  return kFamilies;
}
const FamilyInfo& info(Family family) {
  return kFamilies[static_cast<std::size_t>(family)];
}
std::span<const std::string_view> containerLabels() {
  return kContainerLabels;
}

}  // namespace memqos::metrics
