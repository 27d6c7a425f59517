// A pod as the API server has it, reduced to what memqos needs; the rest of the object is dropped where it is read.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "cgroup/match.h"
#include "document/node.h"
#include "policy/pod.h"

namespace memqos::kube {

struct PodRecord {
  policy::Pod pod;                         // without labels; annotations: only those that memqos reads
  cgroup::PodIdentity identity;            // which cgroups may be its
  std::map<std::string, Bytes> allocated;  // memory requests that the kubelet has granted, by container
  bool operator==(const PodRecord&) const = default;
};

// Keys and values that are kept of one pod's annotations: the others are left out, in the object's order, and counted
// by `annotationsLeftOut`. A knob for each of 60 containers fits.
inline constexpr std::size_t kAnnotationBytes = 16 * 1024;
// What a record costs at most beside its annotations: a container's names, ids and amounts; and the pod's own.
inline constexpr std::size_t kBytesPerContainer = 1024;
inline constexpr std::size_t kBytesPerPod = 2048;

struct DecodedPod {
  PodRecord record;
  std::size_t annotationsLeftOut = 0;
};
// nullopt: not a pod that can be used (no name, no uid, no spec).
std::optional<DecodedPod> decodePod(const document::Node& object);
// The memory that a record holds, without malloc's own.
std::size_t sizeOf(const PodRecord& record);

// A Node's status.allocatable.memory; nullopt: it has none.
std::optional<Bytes> decodeAllocatable(const document::Node& node);

}  // namespace memqos::kube
