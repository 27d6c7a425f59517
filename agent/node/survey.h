// Looks at the tree for the pods that ask for something: which cgroups are theirs, what stands above, what the files
// say.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/resolve.h"
#include "control/protection.h"
#include "control/writer.h"
#include "node/cluster_tree.h"
#include "policy/plan.h"

namespace memqos::node {

struct SurveyRequest {
  struct Pod {
    std::string uid;
    cgroup::PodKeys keys;
    std::optional<std::size_t> inCluster{};  // index into cluster->pods; its keys are then not used
  };
  std::vector<Pod> pods;
  std::shared_ptr<const ClusterView> cluster{};  // null: standalone
  std::string cgroupRoot;                        // below the mount; the root of what may be touched
  // What happened since the last survey: a pod that none of it concerns is not looked at again.
  bool everything = true;
  std::set<cgroup::Id> written;                           // cgroups of which a file was written
  std::set<cgroup::Id> unwatched;                         // cgroups of which nothing was heard before now
  std::set<std::pair<cgroup::Id, std::string>> children;  // created or removed: where, and its name
};

struct SurveyedPod {
  cgroup::Handle cgroup;  // the pod slice; null: none to hold, or not there
  bool inKubepods = false;
  std::map<std::string, cgroup::Handle> containers;  // those that are there
  policy::PodFacts facts;
  std::vector<cgroup::PathProblem> problems;
};

// A cgroup above a pod, root excluded.
struct SurveyedAncestor {
  cgroup::Handle cgroup;
  bool inKubepods = false;       // part of a kubepods tree or above one: may be held
  control::Protection current;   // in the kernel
  control::Protection baseline;  // what somebody else last wrote
  control::Protection outside;   // sum of children that are not on the way to a managed pod; none read inside kubepods
};

struct Survey {
  std::map<std::string, SurveyedPod> pods;            // by UID
  std::map<std::string, SurveyedAncestor> ancestors;  // by path
  std::vector<cgroup::Handle> waitingAt;              // cgroups in which a wanted one may appear, or a held one end
};

// What a survey may keep of the last one.
class SurveyCache {
 public:
  // A handle of a cgroup that is still the same, opened anew only if it is not.
  Result<cgroup::Handle> get(const cgroup::Root& root, const std::string& path);
  void use(const std::string& path);  // as if it had been asked for
  void keepOnlyUsed();                // drops what was not asked for since the last call

  // A pod as it was found, and what would make that stale.
  struct Pod {
    cgroup::PodKeys keys;
    SurveyedPod found;
    std::vector<std::string> watchFor;                          // paths for Survey::waitingAt
    std::vector<std::pair<cgroup::Id, std::string>> sensitive;  // a child of this name here; "" is any child
    std::optional<cgroup::PodIdentity> identity{};              // that it was found for, in a cluster
  };
  [[nodiscard]] const Pod* reusable(const SurveyRequest& request, const SurveyRequest::Pod& pod) const;
  std::map<std::string, Pod> pods;  // by UID
  BundleCache bundles;

 private:
  struct Item {
    cgroup::Handle handle;
    bool used = true;
  };
  std::map<std::string, Item> items_;
};

// Blocking; for the control lane, beside the writer whose baselines it asks for.
Survey survey(const SurveyRequest& request, const cgroup::Root& root, control::Writer& writer, SurveyCache& cache);

}  // namespace memqos::node
