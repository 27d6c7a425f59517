#include "policy/pod_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/quantity.h"
#include "policy/keys.h"
#include "policy/pod_resources.h"

namespace memqos::policy {
namespace {

using document::Kind;
using document::Member;
using document::Node;

// A value with its path from the object, e.g. "spec.containers[0].name".
struct Field {
  const Node* node = nullptr;
  std::string path;
  explicit operator bool() const { return node != nullptr; }
};

// RFC 1123, as Kubernetes checks names.
bool isAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool isPart(std::string_view text) {
  return !text.empty() && isAlnum(text.front()) && isAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return isAlnum(c) || c == '-'; });
}
bool isLabel(std::string_view text) {
  return text.size() <= 63 && isPart(text);
}
bool isSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  for (auto dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!isPart(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return isPart(text);
}

constexpr const char* kNameAdvice =
    "use lower-case letters, digits and '-', beginning and ending with a letter or digit";

class Decoder {
 public:
  Decoder(const Node& object, const Source& source) : object_(object) {
    pod_.source = source;
    pod_.source.position = object.position;
  }

  // `owner` is where the name stands, `pod` where metadata and spec of the pod stand; equal for a Pod.
  Decoded decode(const Field& owner, const Field& pod, bool isTemplate) {
    const Field metadata = child(owner, "metadata", Kind::map);
    const bool named = identity(metadata, isTemplate);
    texts(isTemplate ? child(pod, "metadata", Kind::map) : metadata);
    const std::size_t before = findings_.size();
    const Field spec = child(pod, "spec", Kind::map);
    if (spec) {
      readSpec(spec);
      readStatus(child(pod, "status", Kind::map));
    } else if (findings_.size() == before) {
      missing(pod, "spec");
    }
    for (Finding& finding : findings_) {
      finding.nameSpace = pod_.nameSpace;
      finding.pod = pod_.name;
      finding.uid = pod_.uid;
    }
    Decoded out{std::nullopt, std::move(findings_)};
    if (named && spec) out.pod = std::move(pod_);
    return out;
  }

  Field root() { return {&object_, ""}; }
  // The value of a map's key; a null is as if absent. Another kind than `wanted` is a finding, and as if absent.
  Field child(const Field& parent, const std::string& key, Kind wanted) {
    const Node* node = parent ? parent.node->find(key) : nullptr;
    if (node == nullptr || node->isNull()) return {};
    Field field{node, parent.path.empty() ? key : parent.path + "." + key};
    if (node->kind == wanted) return field;
    wrongKind(field, wanted);
    return {};
  }
  void missing(const Field& parent, const std::string& key) {
    const Node* node = parent ? parent.node : &object_;
    Node absent;
    absent.position = node->position;
    bad({&absent, parent.path.empty() ? key : parent.path + "." + key}, "it is missing", "");
  }
  // No pod, because `key` is missing if nothing was found wrong on the way to it.
  Decoded giveUp(const std::string& key) {
    if (findings_.empty()) missing(root(), key);
    return {std::nullopt, std::move(findings_)};
  }

 private:
  static std::string_view foundName(Kind kind) { return kind == Kind::boolean ? "a boolean" : name(kind); }
  void wrongKind(const Field& field, Kind wanted) {
    const Node& node = *field.node;
    const bool quotable = wanted == Kind::string && node.kind != Kind::list && node.kind != Kind::map;
    bad(field, fmt::format("this is {}, not {}", foundName(node.kind), name(wanted)),
        quotable ? fmt::format("quote it: \"{}\"", cut(node.scalar, 64)) : fmt::format("write {}", name(wanted)));
  }

  Finding& bad(const Field& field, std::string problem, std::string advice) {
    Finding finding;
    finding.reason = Reason::invalidManifest;
    finding.container = container_;
    finding.key = field.path;
    finding.value = kept(field.node->scalar);
    finding.problem = std::move(problem);
    finding.advice = std::move(advice);
    finding.source = pod_.source;
    finding.source.position = field.node->position;
    findings_.push_back(std::move(finding));
    return findings_.back();
  }

  std::optional<std::string> text(const Field& parent, const std::string& key) {
    const Field field = child(parent, key, Kind::string);
    if (!field) return std::nullopt;
    return field.node->scalar;
  }

  // False without a usable name and namespace.
  bool identity(const Field& metadata, bool isTemplate) {
    const std::size_t before = findings_.size();
    const Field nameSpace = child(metadata, "namespace", Kind::string);
    if (nameSpace && !nameSpace.node->scalar.empty()) {
      if (isLabel(nameSpace.node->scalar)) {
        pod_.nameSpace = nameSpace.node->scalar;
      } else {
        bad(nameSpace, fmt::format("{} is not a namespace's name", inQuotes(nameSpace.node->scalar)), kNameAdvice);
      }
    }
    bool usable = findings_.size() == before;
    usable = nameOf(metadata) && usable;
    const Field uid = isTemplate ? Field{} : child(metadata, "uid", Kind::string);
    if (uid) {
      const std::string& given = uid.node->scalar;
      const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
      };
      if (!given.empty() && given.size() <= 128 && std::all_of(given.begin(), given.end(), plain)) {
        pod_.uid = given;
      } else {
        bad(uid, fmt::format("{} is not a uid", inQuotes(given)), "remove it; one is derived from namespace and name");
      }
    }
    if (pod_.uid.empty()) pod_.uid = deriveUid(pod_.source.kind, pod_.nameSpace, pod_.name);
    return usable;
  }

  bool nameOf(const Field& metadata) {
    const std::size_t before = findings_.size();
    Field field = child(metadata, "name", Kind::string);
    const bool generated = !field && findings_.size() == before;
    if (generated) field = child(metadata, "generateName", Kind::string);
    if (!field) {
      if (findings_.size() == before && (metadata || before == 0))
        missing({metadata ? metadata.node : &object_, "metadata"}, "name");
      return false;
    }
    const std::string& given = field.node->scalar;
    if (!isSubdomain(generated ? given + "x" : given)) {
      bad(field, fmt::format("{} is not a pod's name", inQuotes(given)), kNameAdvice);
      return false;
    }
    pod_.name = given;
    return true;
  }

  void texts(const Field& metadata) {
    const Field labels = child(metadata, "labels", Kind::map);
    for (const Member& member : membersOf(labels)) {
      if (const auto value = mapText({&member.value, keyed(labels, member.key)})) pod_.labels[member.key] = *value;
    }
    const Field annotations = child(metadata, "annotations", Kind::map);
    for (const Member& member : membersOf(annotations)) {
      const Key::Kind kind = parseKey(member.key).kind;
      const bool ours = kind == Key::Kind::pod || kind == Key::Kind::container;
      const std::size_t before = findings_.size();
      const auto value = mapText({&member.value, ours ? kept(member.key) : keyed(annotations, member.key)});
      if (value) pod_.annotations.push_back({member.key, *value, member.value.position});
      if (ours && findings_.size() > before) findings_.back().reason = Reason::invalidAnnotation;
    }
  }
  static const std::vector<Member>& membersOf(const Field& field) {
    static const std::vector<Member> kNone;
    return field ? field.node->members : kNone;
  }
  static std::string keyed(const Field& map, const std::string& key) {
    return kept(fmt::format("{}[{}]", map.path, inQuotes(key)));
  }
  // A value of labels and annotations, which are maps of strings; the API server reads null as "".
  std::optional<std::string> mapText(const Field& field) {
    const Node& node = *field.node;
    if (node.kind == Kind::string || node.isNull()) return node.scalar;
    wrongKind(field, Kind::string);
    return std::nullopt;
  }

  void readSpec(const Field& spec) {
    containers(spec, "containers", ContainerKind::regular);
    containers(spec, "initContainers", ContainerKind::init);
    containers(spec, "ephemeralContainers", ContainerKind::ephemeral);
    const Field regular{spec.node->find("containers"), ""};
    if (!regular || regular.node->isNull() || (regular.node->kind == Kind::list && regular.node->items.empty())) {
      missing(spec, "containers");
    }
    podLevel_ = resources(spec);
    pod_.podRequest = bytes(podLevel_.requests);
    pod_.podLimit = bytes(podLevel_.limits);
    pod_.runtimeClass = text(spec, "runtimeClassName").value_or("");
  }

  void containers(const Field& spec, const std::string& key, ContainerKind kind) {
    const Field list = child(spec, key, Kind::list);
    if (!list) return;
    for (std::size_t i = 0; i < list.node->items.size(); ++i) {
      const Field item{&list.node->items[i], fmt::format("{}[{}]", list.path, i)};
      if (item.node->kind == Kind::map) {
        container(item, kind);
      } else {
        wrongKind(item, Kind::map);
      }
      container_.clear();
    }
  }

  void container(const Field& item, ContainerKind kind) {
    const std::size_t before = findings_.size();
    const Field named = child(item, "name", Kind::string);
    if (!named) {
      if (findings_.size() == before) missing(item, "name");
      return;
    }
    const std::string& given = named.node->scalar;
    if (!isLabel(given)) {
      bad(named, fmt::format("{} is not a container's name", inQuotes(given)), kNameAdvice);
      return;
    }
    if (!containerNames_.insert(given).second) {
      bad(named, fmt::format("a second container named {}", given), "names of a pod's containers differ");
      return;
    }
    container_ = given;
    if (kind == ContainerKind::init && text(item, "restartPolicy") == "Always") kind = ContainerKind::sidecar;
    const Resources amounts = resources(item);
    Container out{given, kind, bytes(amounts.requests), bytes(amounts.limits)};
    if (!out.memoryRequest) out.memoryRequest = out.memoryLimit;  // Kubernetes' default
    pod_.containers.push_back(std::move(out));
    resources_.push_back({kind, amounts});
  }

  static std::optional<Bytes> bytes(const Amounts& amounts) {
    const auto& memory = amounts[at(Resource::memory)];
    return memory ? std::optional(Bytes{*memory}) : std::nullopt;
  }

  Resources resources(const Field& parent) {
    const Field field = child(parent, "resources", Kind::map);
    Resources out;
    if (!field) return out;
    const Field requests = child(field, "requests", Kind::map);
    out.requests = amounts(requests);
    out.limits = amounts(child(field, "limits", Kind::map));
    const auto request = bytes(out.requests);
    const auto limit = bytes(out.limits);
    if (request && limit && *request > *limit) {
      bad({requests.node->find("memory"), requests.path + ".memory"},
          fmt::format("the request is more than the limit {}", toHuman(*limit)),
          "lower the request or raise the limit");
    }
    return out;
  }

  Amounts amounts(const Field& list) {
    Amounts out;
    for (const Resource resource : kResources) {
      const std::string key = resource == Resource::cpu ? "cpu" : "memory";
      const Node* node = list ? list.node->find(key) : nullptr;
      if (node == nullptr || node->isNull()) continue;
      out[at(resource)] = amount({node, list.path + "." + key}, resource);
    }
    return out;
  }

  std::optional<std::int64_t> amount(const Field& field, Resource resource) {
    const bool cpu = resource == Resource::cpu;
    const char* const advice = cpu ? "write e.g. 500m or 2" : "write e.g. 64Mi, 1.5Gi, 500M or 128974848";
    const Node& node = *field.node;
    if (node.kind != Kind::string && node.kind != Kind::integer && node.kind != Kind::real) {
      bad(field, fmt::format("this is {}, not a quantity", foundName(node.kind)), advice);
      return std::nullopt;
    }
    const std::string text = node.jsonText();
    const auto parsed = cpu ? parseMilliQuantity(text) : parseQuantity(text).map([](Bytes b) { return b.count; });
    if (!parsed) {
      bad(field, fmt::format("{} is not a quantity", inQuotes(node.scalar)), advice);
    } else if (*parsed < 0) {
      bad(field, fmt::format("{} is negative", inQuotes(node.scalar)), advice);
    } else {
      return *parsed;
    }
    return std::nullopt;
  }

  void readStatus(const Field& status) {
    const Node* given = status ? status.node->find("qosClass") : nullptr;
    for (const QosClass qos : {QosClass::guaranteed, QosClass::burstable, QosClass::bestEffort}) {
      if (given != nullptr && given->kind == Kind::string && given->scalar == name(qos)) pod_.statusQos = qos;
    }
    if (!pod_.statusQos) pod_.statusQos = qosOf(std::move(resources_), podLevel_);
  }

  const Node& object_;
  Pod pod_;
  std::vector<Finding> findings_;
  std::string container_;  // the one being read, for findings
  std::set<std::string> containerNames_;
  std::vector<ContainerResources> resources_;
  Resources podLevel_;
};

constexpr std::array<std::string_view, 7> kWorkloads = {
    "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"};

// FNV-1a, 128 bit (draft-eastlake-fnv): well mixed for short texts; nobody gains from a collision here.
__extension__ using Hash = unsigned __int128;
Hash fnv1a(std::string_view text) {
  constexpr Hash kPrime = (Hash{1} << 88) + 0x13B;
  Hash hash = (Hash{0x6c62272e07bb0142} << 64) + Hash{0x62b821756295c58d};
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace

Decoded decodePod(const Node& object, const Source& source) {
  Decoder decoder(object, source);
  return decoder.decode(decoder.root(), decoder.root(), false);
}

bool isWorkload(std::string_view kind) {
  return std::find(kWorkloads.begin(), kWorkloads.end(), kind) != kWorkloads.end();
}

Decoded decodeTemplate(const Node& object, const Source& source) {
  Decoder decoder(object, source);
  Field parent = decoder.child(decoder.root(), "spec", Kind::map);
  if (source.kind == "CronJob") {
    parent = decoder.child(decoder.child(parent, "jobTemplate", Kind::map), "spec", Kind::map);
  }
  const Field pod = decoder.child(parent, "template", Kind::map);
  if (pod) return decoder.decode(decoder.root(), pod, true);
  return decoder.giveUp(source.kind == "CronJob" ? "spec.jobTemplate.spec.template" : "spec.template");
}

std::string deriveUid(std::string_view kind, std::string_view nameSpace, std::string_view name) {
  // Names have no '/', so different arguments give different texts.
  const Hash hash = fnv1a(fmt::format("memqos/{}/{}/{}", kind, nameSpace, name));
  auto high = static_cast<std::uint64_t>(hash >> 64);
  auto low = static_cast<std::uint64_t>(hash);
  high = (high & ~std::uint64_t{0xF000}) | 0x8000;                     // version 8
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // variant
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF, high & 0xFFFF, low >> 48,
                     low & 0xFFFFFFFFFFFF);
}

}  // namespace memqos::policy
