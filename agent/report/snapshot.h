// What the agent knows at one moment, as values: the source of metrics, explain, top and status.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cgroup/features.h"
#include "cgroup/files.h"
#include "policy/plan.h"

namespace memqos::report {

// One control file of one container.
struct FileState {
  std::optional<Limit> wanted;     // what the Plan wants; nullopt: nobody asks
  std::optional<Limit> current;    // last read or written; nullopt: the kernel has no such file, or not yet read
  std::optional<Limit> effective;  // what holds in the hierarchy (protection); current for the others
  std::optional<Limit> baseline;   // what restore puts back
  std::string why;                 // why it is not (yet) in the kernel or has no effect; empty if it takes effect
  std::string note;                // how it takes effect, where that is not what the file's name says
  [[nodiscard]] bool takesEffect() const { return wanted && current && why.empty(); }
};

// What background reclaim does for a container.
struct ReclaimState {
  std::string why;    // why it does nothing, or cannot; empty: it works
  std::string state;  // a word or two: "idle", "reclaiming", ...; empty: it is off
  bool trims = false;
  std::map<std::string, Bytes> marks;  // start, stop, urgent; empty: no limit
  Bytes requested, reclaimed;
  std::map<std::pair<std::string, std::string>, std::uint64_t> writes;  // {mode, result}
  std::optional<Bytes> refaulted;                                       // since the cgroup was made
  std::optional<Bytes> cacheMapped, cacheUnmapped, cacheLimit;
};

struct ContainerState {
  std::string name;
  std::string cgroup;                               // path below the root; empty: no cgroup yet
  std::array<FileState, cgroup::kFileCount> files;  // indexed by cgroup::File
  [[nodiscard]] const FileState& at(cgroup::File file) const { return files[static_cast<std::size_t>(file)]; }
  FileState& at(cgroup::File file) { return files[static_cast<std::size_t>(file)]; }
  // From the 5 s sample; nullopt before the first.
  std::optional<Bytes> usage;
  std::map<std::string, std::int64_t, std::less<>> events;  // memory.events
  std::optional<std::chrono::microseconds> pressureSome;
  std::uint64_t throttleEscapes = 0;
  std::optional<ReclaimState> reclaim;  // nullopt: nobody asks for it, or there is no cgroup
  // Where memory.low is held as memory.min: whether that is let go for now. nullopt: it is not held so.
  std::optional<bool> lowValveOpen;
};

struct PodState {
  policy::PodPlan plan;
  std::string cgroup;  // the pod's cgroup; empty: none
  std::vector<ContainerState> containers;
};

using Labels = std::pair<std::string, std::string>;
struct Snapshot {
  std::vector<PodState> pods;
  std::vector<cgroup::Feature> features;
  std::map<Labels, std::uint64_t> controlWrites;                    // {file, result}
  std::map<std::string, std::uint64_t> drift;                       // file -> repairs of foreign writes
  std::map<std::string, std::uint64_t> annotationErrors;            // reason
  std::map<std::string, std::uint64_t> dropped;                     // what
  std::map<std::array<std::string, 3>, std::uint64_t> apiRequests;  // {verb, resource, code}
  std::map<std::string, std::uint64_t> watchRestarts;               // reason
  std::map<std::string, std::uint64_t> podsByState;                 // managed | waiting | unmanaged | opted_out
  std::map<std::string, std::uint64_t> containersByState;           // programmed | waiting
  bool ready = false;                                               // first plan applied
  bool suspended = false;                                           // after restore
  std::string notReady;                                             // why not, for /readyz
};

}  // namespace memqos::report
