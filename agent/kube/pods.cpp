#include "kube/pods.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "kube/objects.h"
#include "policy/dialects.h"
#include "policy/keys.h"
#include "policy/pod_decoder.h"

namespace memqos::kube {
namespace {

using document::Kind;
using document::Node;

constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";
constexpr std::string_view kConfigMirror = "kubernetes.io/config.mirror";
constexpr std::size_t kLongestId = 256;  // of a container, "containerd://" and 64 digits as a rule

bool isRead(std::string_view key) {
  if (policy::parseKey(key).kind != policy::Key::Kind::foreign) return true;
  return key == policy::kKoordinatorKey || key.find(policy::kNriSuffix) != std::string_view::npos;
}

// In place, so that nothing large is copied. Returns how many of those that are read found no room.
std::size_t keepRead(std::vector<policy::Annotation>& annotations) {
  std::size_t bytes = 0;
  std::size_t leftOut = 0;
  std::erase_if(annotations, [&](const policy::Annotation& annotation) {
    if (!isRead(annotation.key)) return true;
    const std::size_t size = annotation.key.size() + annotation.value.size();
    if (bytes + size > kAnnotationBytes) {
      ++leftOut;
      return true;
    }
    bytes += size;
    return false;
  });
  annotations.shrink_to_fit();
  for (policy::Annotation& annotation : annotations) annotation.position = {};
  return leftOut;
}

std::string annotation(const Node& object, std::string_view key) {
  const Node* metadata = object.find("metadata");
  const Node* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
  const Node* value = annotations == nullptr ? nullptr : annotations->find(key);
  return value == nullptr || value->kind != Kind::string || value->scalar.size() > kLongestId ? std::string()
                                                                                              : value->scalar;
}

// status.containerStatuses and its two siblings.
void readStatuses(const Node& status, const char* list, PodRecord& out) {
  const Node* items = status.find(list);
  if (items == nullptr || items->kind != Kind::list) return;
  for (const Node& item : items->items) {
    const auto container = out.identity.containers.find(textAt(item, "name"));
    if (container == out.identity.containers.end()) continue;
    std::string id = textAt(item, "containerID");
    if (id.size() <= kLongestId) container->second = std::move(id);
    const Node* allocated = item.find("allocatedResources");
    const Node* memory = allocated == nullptr ? nullptr : allocated->find("memory");
    if (memory == nullptr) continue;
    if (const auto bytes = parseQuantity(memory->jsonText()); bytes && *bytes >= Bytes{})
      out.allocated[container->first] = *bytes;
  }
}

}  // namespace

std::optional<DecodedPod> decodePod(const Node& object) {
  if (textAt(object, "metadata.uid").empty()) return std::nullopt;
  policy::Decoded decoded = policy::decodePod(object, {});
  if (!decoded.pod) return std::nullopt;
  DecodedPod out;
  PodRecord& record = out.record;
  record.pod = std::move(*decoded.pod);
  record.pod.labels.clear();
  record.pod.source = {};
  out.annotationsLeftOut = keepRead(record.pod.annotations);
  record.identity.uid = record.pod.uid;
  record.identity.nameSpace = record.pod.nameSpace;
  record.identity.name = record.pod.name;
  record.identity.configHash = annotation(object, kConfigHash);
  record.identity.configMirror = annotation(object, kConfigMirror);
  for (const policy::Container& container : record.pod.containers) record.identity.containers[container.name] = "";
  if (const Node* status = object.find("status"); status != nullptr) {
    for (const char* list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"})
      readStatuses(*status, list, record);
  }
  return out;
}

std::size_t sizeOf(const PodRecord& record) {
  const auto text = [](const std::string& s) { return s.capacity() > 15 ? s.capacity() + 1 : 0; };
  constexpr std::size_t kMapNode = 4 * sizeof(void*);
  constexpr std::size_t kString = sizeof(std::string);
  std::size_t out = sizeof(record);
  for (const policy::Annotation& item : record.pod.annotations) out += sizeof(item) + text(item.key) + text(item.value);
  for (const policy::Container& item : record.pod.containers) out += sizeof(item) + text(item.name);
  for (const auto& [name, id] : record.identity.containers) out += kMapNode + 2 * kString + text(name) + text(id);
  for (const auto& [name, bytes] : record.allocated) out += kMapNode + kString + sizeof(bytes) + text(name);
  for (const std::string* item :
       {&record.pod.nameSpace, &record.pod.name, &record.pod.uid, &record.pod.runtimeClass, &record.identity.uid,
        &record.identity.nameSpace, &record.identity.name, &record.identity.configHash, &record.identity.configMirror})
    out += text(*item);
  return out;
}

std::optional<Bytes> decodeAllocatable(const Node& node) {
  const Node* status = node.find("status");
  const Node* allocatable = status == nullptr ? nullptr : status->find("allocatable");
  const Node* memory = allocatable == nullptr ? nullptr : allocatable->find("memory");
  if (memory == nullptr) return std::nullopt;
  const auto bytes = parseQuantity(memory->jsonText());
  if (!bytes || *bytes <= Bytes{}) return std::nullopt;
  return *bytes;
}

}  // namespace memqos::kube
