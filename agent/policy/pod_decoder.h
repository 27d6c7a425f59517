// Documents of Kubernetes objects -> Pod. Strict about what it reads, silent about the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/node.h"
#include "policy/finding.h"
#include "policy/pod.h"

namespace memqos::policy {

struct Decoded {
  std::optional<Pod> pod;         // nullopt: without a usable name, or without a spec
  std::vector<Finding> findings;  // invalidManifest, invalidAnnotation; each with the key's path and the value's place
};

// A Pod object; its kind and apiVersion are the caller's business. What cannot be used is a finding and as if absent.
// Without metadata.uid one is derived. `source.position` is replaced by the object's.
Decoded decodePod(const document::Node& object, const Source& source);

// Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job and CronJob: kinds that hold a pod
// template.
bool isWorkload(std::string_view kind);
// The pod of a workload's template: the workload's name and namespace, the template's labels, annotations and spec.
// `source.kind` must be a workload. The uid is always derived: a template is no pod yet.
Decoded decodeTemplate(const document::Node& object, const Source& source);

// The uid of a pod that has none: a UUID (version 8, RFC 9562) that depends on nothing but the arguments, so that it is
// the same after a restart and on every node.
std::string deriveUid(std::string_view kind, std::string_view nameSpace, std::string_view name);

}  // namespace memqos::policy
