// The 5 s sample of managed containers: the only regular reads that memqos makes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cgroup/cgroup.h"
#include "cgroup/stat.h"

namespace memqos::node {

struct Sample {
  cgroup::Id id = 0;
  bool gone = false;
  std::optional<Bytes> usage;                  // memory.current
  std::optional<cgroup::MemoryEvents> events;  // memory.events
  std::map<std::string, std::int64_t, std::less<>> eventCounters;
  std::optional<cgroup::Pressure> pressure;  // memory.pressure; none where PSI is off
};

// Of a held memory.current (or v1's memory.usage_in_bytes); nullopt: it cannot be read, as of a cgroup that is gone.
std::optional<Bytes> usageOf(const Fd& file);

// Blocking; for the sample lane. Holds the files of the cgroups that it was asked for last, so that a sample opens
// nothing.
class Sampler {
 public:
  std::vector<Sample> take(const std::vector<cgroup::Handle>& cgroups);

 private:
  struct Files {
    Fd usage, events, pressure;  // what is not there is not open
  };
  static Files open(const cgroup::Cgroup& cgroup);
  Sample one(const cgroup::Cgroup& cgroup);

  std::map<cgroup::Id, Files> files_;
};

}  // namespace memqos::node
