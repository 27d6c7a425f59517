// Pod manifests, to the plan that they end in.
#include "config/manifests.h"

#include <set>

#include "policy/plan.h"
#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  auto manifests = config::parseManifests(text, "fuzz.yaml", config::Templates::include);
  for (const policy::Finding& finding : manifests.findings) {
    require(finding.source.file == "fuzz.yaml" && !finding.problem.empty(), "a finding says where and what");
  }
  const auto runnable = config::parseManifests(text, "fuzz.yaml", config::Templates::ignore);
  require(runnable.pods.size() <= manifests.pods.size(), "templates only add pods");

  config::dropDuplicates(manifests);
  std::set<std::string> uids;
  for (const policy::Pod& pod : manifests.pods) {
    require(!pod.name.empty() && !pod.nameSpace.empty(), "a pod has a name");
    require(!pod.uid.empty() && uids.insert(pod.uid).second, "a uid is one pod's");
    const auto plan = policy::plan(pod, {}, {mebibytes(4096), kPage}, {});
    require(plan.uid == pod.uid && plan.containers.size() <= pod.containers.size(), "a plan is of its pod");
  }
  return 0;
}
