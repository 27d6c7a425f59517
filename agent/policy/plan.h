// pod + configuration + node facts -> what is wanted, with its origin. Pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "base/units.h"
#include "policy/finding.h"
#include "policy/knobs.h"
#include "policy/pod.h"
#include "policy/settings.h"

namespace memqos::policy {

// What the kernel and the API server say of one container now. All optional: unknown before it runs, and for a FILE.
struct ContainerFacts {
  std::optional<Limit> limit{};             // smallest memory.max from the container up to its pod
  std::optional<Bytes> allocatedRequest{};  // status.containerStatuses[].allocatedResources
  std::optional<Limit> foundHigh{};         // memory.high that somebody else (the kubelet) wrote: the baseline
  std::optional<Limit> foundSwapMax{};      // likewise; swap knobs may only lower it unless swapMayRaise
  std::optional<Limit> foundZswapMax{};
  std::optional<Limit> foundMin{};
  std::optional<Limit> foundLow{};
  bool operator==(const ContainerFacts&) const = default;
};

struct PodFacts {
  std::optional<Limit> podLimit;  // memory.max of the pod's cgroup
  std::map<std::string, ContainerFacts> containers;
  bool operator==(const PodFacts&) const = default;
};

struct NodeFacts {
  Bytes allocatable;  // MemTotal without an API server; 0: not known (a FILE, without a node)
  Bytes page = kPage;
};

// A knob's value after parsing: bytes or "max", a flag, a keyword ("off", "auto", "watermark", a class name).
using KnobValue = std::variant<Limit, bool, std::string>;
std::string toText(const KnobValue& value);

struct Origin {
  enum class Kind { annotation, dialect, policy, klass, configuredDefault, kubelet, baseline, none };
  Kind kind = Kind::none;
  std::string name;  // annotation key, policy or class name
};
std::string toText(const Origin& origin);  // "annotation KEY", "policy NAME", "class NAME", "default", "kubelet", ...

struct KnobPlan {
  std::optional<std::string> asked;  // raw text of the source that won; nullopt: nothing asks
  std::optional<KnobValue> wanted;   // nullopt: nothing asks, or it resolves to "leave alone"
  Origin origin;
  std::string why;  // a sentence where a rule changed the value, or why there is none
};

struct ContainerPlan {
  std::string name;
  ContainerKind kind = ContainerKind::regular;
  std::array<KnobPlan, kKnobCount> knobs;  // indexed by Knob
  [[nodiscard]] const KnobPlan& at(Knob knob) const { return knobs[static_cast<std::size_t>(knob)]; }
  KnobPlan& at(Knob knob) { return knobs[static_cast<std::size_t>(knob)]; }
  // The wanted word of a keyword knob, and "off" of a quantity knob; the built-in default where nothing is wanted,
  // which is "" for most.
  [[nodiscard]] std::string_view word(Knob knob) const;
  // The wanted number of a quantity knob (flags as 0 and 1); nullopt if nothing is wanted or it is a keyword.
  [[nodiscard]] std::optional<Limit> wantedLimit(Knob knob) const;
  // The limit and request that percentages were taken of, for explain.
  Limit limit = Limit::max();  // max: there is none and the node's allocatable is not known
  bool limitIsNode = false;    // the node's allocatable, for want of a limit
  Bytes request;
};

struct PodPlan {
  std::string nameSpace;
  std::string name;
  std::string uid;
  bool managed = true;                    // false: `memqos.io/managed: "false"`
  bool sandboxed = false;                 // the values are for the pod's cgroup together (policy/sandbox.h)
  std::vector<ContainerPlan> containers;  // empty if not managed
  std::vector<Finding> findings;
  [[nodiscard]] bool empty() const;  // nothing wanted: the pod costs nothing
};

// Resolves one pod. Never fails: what is wrong becomes a finding, and the next source in order applies.
PodPlan plan(const Pod& pod, const PodFacts& facts, const NodeFacts& node, const Settings& settings);

// The standalone keys (`memqos.io/cgroup`, `cgroup.memqos.io/<container>`), as written; read only where allowed.
struct CgroupKeys {
  std::optional<Annotation> pod;
  std::map<std::string, Annotation> containers;
};
CgroupKeys cgroupKeys(const Pod& pod);

}  // namespace memqos::policy
