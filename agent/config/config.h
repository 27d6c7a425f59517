// The agent's configuration: --config DIR, its *.yaml files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/finding.h"
#include "policy/settings.h"

namespace memqos::config {

enum class QosSlices { manage, observe };
enum class LowOnMglru { hold, kernel };
enum class RestoreOnExit { automatic, always, never };

struct Config {
  policy::Settings policy;
  QosSlices qosSlices = QosSlices::manage;
  LowOnMglru lowOnMglru = LowOnMglru::hold;
  RestoreOnExit restoreOnExit = RestoreOnExit::automatic;
  bool reclaimFloorAtRequest = false;
  bool reclaimOnIsolatedCpus = false;
  std::string cgroupRoot;              // below the mount; empty = the mount's root
  std::vector<std::string> stateDirs;  // runtimes' state directories
  std::string metricsListen = "127.0.0.1:9464";
  std::size_t metricsMaxSeries = 20000;
};

struct Loaded {
  Config config;
  std::vector<policy::Finding> findings;  // invalidConfiguration: file, line, column, key, value, what would be right
};

// All *.yaml (and *.yml) files of `directory`, in name order; a key in two files is a finding. If there is any finding
// of severity error the config must not replace a good one. A missing directory is the defaults when `mayBeMissing`,
// else an error.
Result<Loaded> load(const std::string& directory, bool mayBeMissing);
// The same from texts (file name -> content): what load() does after reading; for tests and fuzzing.
Loaded parse(const std::map<std::string, std::string>& files);

}  // namespace memqos::config
