// The usual process_* metrics of the agent itself, which prometheus-cpp does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace memqos::metrics {

struct ProcessStat {
  double cpuSeconds = 0;
  double startSeconds = 0;  // since boot
  std::int64_t threads = 0;
  Bytes virtualMemory, residentMemory;
};
// /proc/PID/stat (proc(5)); ticks per second as sysconf(_SC_CLK_TCK) has them. Errors: invalid.
Result<ProcessStat> parseProcessStat(std::string_view text, long ticksPerSecond, Bytes page);
// The "btime" line of /proc/stat: seconds since the epoch. Errors: invalid.
Result<std::int64_t> parseBootTime(std::string_view text);

struct ProcessFacts {
  ProcessStat stat;
  double startTime = 0;  // seconds since the epoch
  std::int64_t openFds = 0;
  std::int64_t maxFds = 0;
};
// Of the calling process, below `procRoot` ("/proc").
Result<ProcessFacts> readProcess(const std::string& procRoot);

}  // namespace memqos::metrics
