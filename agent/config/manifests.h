// Pod manifests in files: what `--pods DIR`, `check` and `explain FILE` read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/finding.h"
#include "policy/pod.h"

namespace memqos::config {

struct Manifests {
  std::vector<policy::Pod> pods;
  std::vector<policy::Finding> findings;  // invalidManifest, duplicatePod
};

// Whether the pod templates of workloads count as pods: for check and explain, but not for run.
enum class Templates { include, ignore };

// One file's text: multi-document YAML or JSON, List objects (List, PodList, ...), Pods, and - if asked - the pod
// templates of workloads. Other kinds are skipped silently. What cannot be read is a finding; the rest of the file
// still counts.
Manifests parseManifests(std::string_view text, const std::string& file, Templates templates);
// A path ("-" is stdin). A second manifest of the same pod is a finding and ignored. Errors: why the file cannot be
// read at all.
Result<Manifests> readManifests(const std::string& path, Templates templates);
// Every *.yaml, *.yml and *.json file of a folder that the kubelet would read as static pods (no dot files), in name
// order, also through the symbolic links of a ConfigMap's mount. A wrong file is a finding. A second manifest of the
// same pod is a finding and ignored. Errors: why the folder cannot be read.
class FolderCache;
Result<Manifests> readFolder(const std::string& directory, FolderCache* cache = nullptr);

// What was parsed of files that are still the same: reading a folder again costs only what changed.
class FolderCache {
 public:
  // The pods and findings of `text`, parsed only if it is not what `file` held the last time.
  const Manifests& parsed(const std::string& file, std::string text);
  void keepOnlyUsed();  // drops files that were not asked for since the last call

 private:
  struct Item {
    std::string text;
    Manifests manifests;
    bool used = true;
  };
  std::map<std::string, Item> items_;
};

// Keeps the first of the pods with the same namespace and name, or the same uid; the others become findings.
void dropDuplicates(Manifests& manifests);

}  // namespace memqos::config
