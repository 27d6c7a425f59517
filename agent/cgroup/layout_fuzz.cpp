// Paths of cgroups: the directories below a pod have names that the pod chose.
#include "cgroup/layout.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto path = testing::textOf(data, size);
  const auto ancestors = cgroup::ancestorsOf(path);
  require(ancestors.size() < size + 1, "fewer ancestors than characters");
  for (const std::string& ancestor : ancestors) require(cgroup::isBelow(path, ancestor), "a path is below its parents");
  if (const auto kubepods = cgroup::kubepodsOf(path)) {
    require(path.starts_with(*kubepods), "the root of the pods is on the way");
    require(cgroup::driverOf(path) != cgroup::Driver::none, "a root of pods has a driver");
  }
  const auto pod = cgroup::parsePodPath(path);
  if (!pod) return 0;
  require(!pod->uid.empty() && pod->uid.find('/') == std::string::npos, "a uid is one word");
  require(path.starts_with(pod->pod) && path.starts_with(pod->container), "pod and container are on the way");
  require(!pod->pod.empty() || !pod->container.empty(), "something was found");
  require(pod->container.empty() == pod->containerId.empty(), "a container has an id");
  if (!pod->pod.empty() && !pod->container.empty()) {
    require(cgroup::isBelow(pod->container, pod->pod), "a container is below its pod");
  }
  if (!pod->pod.empty()) {
    const auto again = cgroup::parsePodPath(pod->pod);
    require(again && again->uid == pod->uid && again->container.empty(), "the pod's own path is that pod");
  }
  return 0;
}
