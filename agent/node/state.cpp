#include "node/state.h"

#include <fmt/format.h>

#include "cgroup/layout.h"
#include "control/merge.h"

namespace memqos::node {
namespace {

using cgroup::File;

const control::FileEntry* entryOf(const StateInput& input, const cgroup::Cgroup& cgroup, File file) {
  const auto entry = input.files.find({cgroup.id(), file});
  return entry == input.files.end() ? nullptr : &entry->second;
}

control::Protection currentOf(const StateInput& input, const cgroup::Cgroup& cgroup,
                              control::Protection otherwise = {}) {
  const auto value = [&](File file, Bytes fallback) {
    const control::FileEntry* entry = entryOf(input, cgroup, file);
    return entry != nullptr && entry->current ? entry->current->bytes() : fallback;
  };
  return {value(File::memoryMin, otherwise.min), value(File::memoryLow, otherwise.low)};
}

// Why a value that is wanted is not in the kernel; empty if it is.
std::string whyNotWritten(const control::FileEntry& entry, Limit wanted) {
  if (entry.current == wanted) return {};
  switch (entry.outcome) {
    case control::Outcome::unsupported:
      return fmt::format("this kernel has no {}", cgroup::name(entry.file));
    case control::Outcome::unwatched:
      return "off, because there is no watchdog that would undo it if the agent died";
    case control::Outcome::unjournaled:
      return fmt::format("off, because the journal cannot be written: {}", entry.error);
    case control::Outcome::failed:
    case control::Outcome::mismatch:
      return entry.error.empty() ? "the kernel keeps another value" : fmt::format("the write failed: {}", entry.error);
    default:
      break;
  }
  if (!entry.current) return "not written yet";
  if (entry.file != File::memoryHigh || *entry.current < wanted)
    return "another writer changed it; the repair is under way";
  if (entry.escapes > 0) return "raised because the container was throttled; it is lowered again after a quiet time";
  if (entry.stalled) return "usage leaves no room below it; it is lowered further as usage goes down";
  return "on its way down: it follows usage, so that the container is not throttled";
}

std::string whyCut(const std::string& ancestor, File file, const StateInput& input) {
  const auto found = input.survey.ancestors.find(ancestor);
  std::string held;
  if (found != input.survey.ancestors.end()) {
    const control::Protection now = currentOf(input, *found->second.cgroup, found->second.current);
    held = fmt::format(", which holds {} {}", cgroup::name(file), toHuman(file == File::memoryMin ? now.min : now.low));
  }
  std::string reason;
  if (found != input.survey.ancestors.end() && !found->second.inKubepods) {
    reason = "; it is no part of a kubepods tree, so memqos does not write it";
  } else if (!input.qosSlicesManaged) {
    reason = "; qosSlices: observe";
  }
  return fmt::format("cut by {}{}{}", ancestor, held, reason);
}

report::FileState fileState(const cgroup::Cgroup& cgroup, const policy::ContainerPlan& plan, File file,
                            const StateInput& input, const std::map<std::string, control::Effective>& effective) {
  report::FileState out;
  out.wanted = plan.wantedLimit(control::knobOf(file));
  const control::FileEntry* entry = entryOf(input, cgroup, file);
  if (entry == nullptr) {
    if (out.wanted) out.why = "not written yet";
    return out;
  }
  out.current = out.effective = entry->current;
  out.baseline = entry->baseline;
  // The target may be more than the Plan wants: a low held as min.
  if (out.wanted) out.why = whyNotWritten(*entry, entry->wanted.value_or(*out.wanted));
  if (file != File::memoryMin && file != File::memoryLow) return out;
  const auto found = effective.find(cgroup.path());
  if (found == effective.end()) return out;
  const bool min = file == File::memoryMin;
  out.effective = Limit(min ? found->second.value.min : found->second.value.low);
  const std::string& cut = min ? found->second.limitingMin : found->second.limitingLow;
  if (out.wanted && out.why.empty() && *out.effective < *out.wanted) out.why = whyCut(cut, file, input);
  return out;
}

// A low is held as min where the kernel would not keep it.
void addLowHold(const std::string& uid, const cgroup::Cgroup& cgroup, const StateInput& input,
                report::ContainerState& out) {
  report::FileState& low = out.at(File::memoryLow);
  if (!input.lowNeedsHold || !low.wanted || low.wanted->bytes().count == 0) return;
  const auto valve = input.lowValves.find(uid);
  if (valve == input.lowValves.end()) {
    low.note =
        "not held as memory.min: this kernel's multi-generational LRU spares a cgroup below memory.low only once";
    return;
  }
  const control::FileEntry* min = entryOf(input, cgroup, File::memoryMin);
  out.lowValveOpen = valve->second;
  if (valve->second) {
    low.note = "let go for now (not held as memory.min), because memory is short";
  } else if (min != nullptr && min->held && min->wanted) {
    low.note = fmt::format("held as memory.min {}: this kernel's LRU spares a cgroup below memory.low only once",
                           toHuman(*min->wanted));
    out.at(File::memoryMin).note = "it holds memory-low too";
  }
}

void addSample(const cgroup::Cgroup& cgroup, const StateInput& input, report::ContainerState& out) {
  if (const control::FileEntry* high = entryOf(input, cgroup, File::memoryHigh)) out.throttleEscapes = high->escapes;
  if (input.reclaim) out.reclaim = input.reclaim(cgroup.id());
  const auto found = input.samples.find(cgroup.id());
  if (found == input.samples.end()) return;
  out.usage = found->second.usage;
  out.events = found->second.eventCounters;
  if (found->second.pressure) out.pressureSome = found->second.pressure->some;
}

// Nothing of it is to be found below its pod.
report::ContainerState withoutCgroup(const policy::ContainerPlan& plan, const char* why) {
  report::ContainerState out;
  out.name = plan.name;
  for (const File file : cgroup::kFiles) {
    out.at(file).wanted = plan.wantedLimit(control::knobOf(file));
    if (out.at(file).wanted) out.at(file).why = why;
  }
  return out;
}

report::ContainerState containerState(const std::string& uid, const policy::ContainerPlan& plan, const SurveyedPod* pod,
                                      const StateInput& input,
                                      const std::map<std::string, control::Effective>& effective) {
  report::ContainerState out;
  out.name = plan.name;
  const auto found =
      pod == nullptr ? std::map<std::string, cgroup::Handle>::const_iterator{} : pod->containers.find(plan.name);
  if (pod == nullptr || found == pod->containers.end()) return withoutCgroup(plan, "the container has no cgroup yet");
  const cgroup::Cgroup& cgroup = *found->second;
  if (!input.programmable) out = withoutCgroup(plan, "needs cgroup v2: this node has its memory controller on v1");
  out.cgroup = cgroup.path();
  if (input.programmable) {
    for (const File file : cgroup::kFiles) out.at(file) = fileState(cgroup, plan, file, input, effective);
    addLowHold(uid, cgroup, input, out);
  }
  addSample(cgroup, input, out);
  return out;
}

}  // namespace

std::map<std::string, control::Effective> effectiveOf(const StateInput& input) {
  control::EffectiveInput in;
  for (const auto& [path, ancestor] : input.survey.ancestors) {
    in.settings[path] = currentOf(input, *ancestor.cgroup, ancestor.current);
    in.baselines[path] = ancestor.baseline;
  }
  for (const auto& [uid, pod] : input.survey.pods) {
    if (pod.cgroup) in.settings[pod.cgroup->path()] = currentOf(input, *pod.cgroup);
    for (const auto& [name, cgroup] : pod.containers) in.settings[cgroup->path()] = currentOf(input, *cgroup);
  }
  return control::effectiveProtection(in);
}

report::PodState podState(const policy::PodPlan& plan, const StateInput& input,
                          const std::map<std::string, control::Effective>& effective) {
  report::PodState out;
  out.plan = plan;
  const auto found = input.survey.pods.find(plan.uid);
  const SurveyedPod* pod = found == input.survey.pods.end() ? nullptr : &found->second;
  if (pod != nullptr && pod->cgroup) out.cgroup = pod->cgroup->path();
  const bool together = plan.sandboxed && pod != nullptr && pod->cgroup;
  for (const policy::ContainerPlan& container : plan.containers) {
    if (together) {
      out.containers.push_back(
          withoutCgroup(container, "a sandbox: the pod's cgroup holds the sum of what its containers would get"));
      continue;
    }
    out.containers.push_back(containerState(plan.uid, container, pod, input, effective));
  }
  return out;
}

}  // namespace memqos::node
