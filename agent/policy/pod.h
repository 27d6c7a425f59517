// What memqos knows of a pod, whoever told it: a manifest, the API server, a test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "document/node.h"

namespace memqos::policy {

enum class ContainerKind { regular, init, sidecar, ephemeral };
enum class QosClass { guaranteed, burstable, bestEffort };
std::string_view name(QosClass qos);  // "Guaranteed", ...

// A container as the spec has it.
struct Container {
  std::string name;
  ContainerKind kind = ContainerKind::regular;
  std::optional<Bytes> memoryRequest;
  std::optional<Bytes> memoryLimit;
  bool operator==(const Container&) const = default;
};

struct Annotation {
  std::string key;
  std::string value;
  document::Position position;  // of the value
  bool operator==(const Annotation&) const = default;
};

// Where a manifest stands, for findings.
struct Source {
  std::string file;  // empty for API objects
  document::Position position;
  std::string kind = "Pod";  // the object's kind: Deployment, CronJob, ... for templates
  bool operator==(const Source&) const = default;
};

struct Pod {
  std::string nameSpace = "default";
  std::string name;
  std::string uid;  // empty only before derivation
  std::map<std::string, std::string> labels;
  std::vector<Annotation> annotations;  // every one; which are ours is policy's business
  std::vector<Container> containers;    // regular, init, sidecar and ephemeral, in the spec's order
  std::optional<Bytes> podRequest;      // pod-level resources (spec.resources)
  std::optional<Bytes> podLimit;
  std::optional<QosClass> statusQos;  // status.qosClass, where there is one
  std::string runtimeClass;           // spec.runtimeClassName
  Source source;
  bool operator==(const Pod&) const = default;
};

// The container's memory request with Kubernetes' default (the limit where only that is set). 0 counts as none.
std::optional<Bytes> requestOf(const Container& container);
// The pod-level memory request with Kubernetes' default: the sum of the containers' requests where only a pod-level
// limit is set, the limit itself where no container requests anything. nullopt: no pod-level resources.
std::optional<Bytes> podRequestOf(const Pod& pod);

// status.qosClass, else computed as Kubernetes does from requests and limits of cpu and memory. memqos reads memory
// only, so the decoder fills statusQos from the full spec; without it memory alone decides.
QosClass qosOf(const Pod& pod);

}  // namespace memqos::policy
