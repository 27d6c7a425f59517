// What `check` and `explain FILE` read: manifests and configuration, without a node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "config/manifests.h"
#include "policy/plan.h"
#include "policy/settings.h"

namespace memqos::cli {

struct Rules {
  policy::Settings settings;
  policy::NodeFacts node;
  std::vector<policy::Finding> findings;  // of the configuration
};
// `config`: nullopt is the default folder, which may be missing. `allocatable`: nullopt is not known.
// Errors: what the user has to change, as a sentence.
Result<Rules> readRules(const std::optional<std::string>& config, const std::optional<std::string>& allocatable);

// The pods of one file ("-" is the stream `in`), workload templates included. A file that cannot be read is a finding.
config::Manifests readInput(const std::string& file, Context& context);

// What one pod of a file would get.
policy::PodPlan planOf(const policy::Pod& pod, const Rules& rules);

}  // namespace memqos::cli
