#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/check.h"
#include "report/table.h"
#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;

Node textOrNull(const std::string& text) {
  return text.empty() ? Node::null() : Node::string(text);
}

std::string joinSentences(const std::string& first, const std::string& second) {
  if (first.empty() || second.empty() || first == second) return first.empty() ? second : first;
  return first + "; " + second;
}

// What is there now, and whether it holds.
struct Observed {
  Node current, effective, takesEffect;
  std::string origin, why;
};

bool turnedOff(const policy::KnobValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr && (*word == "off" || *word == "none");
}

// What it does at the moment.
std::string reclaimNote(const ReclaimState& state) {
  const auto mark = [&](const char* name) { return toHuman(state.marks.at(name).roundDown(kKiB)); };
  if (!state.marks.empty())
    return fmt::format("{}; starts above {}, stops at {}", state.state, mark("start"), mark("stop"));
  return state.trims ? state.state + "; no limit says how much, so a little is taken all the time" : state.state;
}

constexpr const char* kSuspended = "everything was restored: the agent writes nothing until it is restarted";

// A knob that background reclaim acts on.
Observed observeReclaim(const policy::KnobPlan& plan, const ContainerState* state, bool suspended) {
  Observed seen;
  if (!plan.wanted) return seen;
  if (turnedOff(*plan.wanted)) {
    seen.takesEffect = Node::boolean(true);
    return seen;
  }
  if (state == nullptr || state->cgroup.empty()) {
    seen.why = "the container has no cgroup yet";
  } else if (!state->reclaim || suspended) {
    seen.why = suspended ? kSuspended : "nothing starts it: reclaim is off";
  } else {
    seen.why = state->reclaim->why;
  }
  seen.takesEffect = Node::boolean(seen.why.empty());
  if (seen.why.empty()) seen.why = reclaimNote(*state->reclaim);
  return seen;
}

bool isReclaim(policy::Knob knob) {
  return knob == policy::Knob::reclaim || knob == policy::Knob::reclaimHigh || knob == policy::Knob::reclaimLow ||
         knob == policy::Knob::pageCacheLimit;
}

Observed observe(const policy::KnobInfo& info, const policy::KnobPlan& plan, const ContainerState* state,
                 bool suspended) {
  if (isReclaim(info.knob)) return observeReclaim(plan, state, suspended);
  Observed seen;
  const auto file = cgroup::findFile(info.file);
  if (!file) {
    const bool engine = info.level == policy::Level::engine && info.form != policy::Form::className;
    if (plan.wanted) {
      const bool holds = !engine || turnedOff(*plan.wanted);
      seen.takesEffect = Node::boolean(holds);
      if (!holds) seen.why = "this version of the agent does not act on it";
    }
    return seen;
  }
  if (state == nullptr || state->cgroup.empty()) {
    if (plan.wanted) {
      seen.takesEffect = Node::boolean(false);
      seen.why = "the container has no cgroup yet";
    }
    return seen;
  }
  const FileState& values = state->at(*file);
  if (values.current) seen.current = fileValueNode(*file, *values.current);
  if (values.effective) seen.effective = fileValueNode(*file, *values.effective);
  if (plan.wanted) seen.takesEffect = Node::boolean(values.takesEffect());
  if (!plan.wanted && values.current) seen.origin = "baseline";
  const bool restored = suspended && plan.wanted && !values.takesEffect();
  seen.why = restored ? kSuspended : joinSentences(values.why, values.note);
  return seen;
}

Node knobNode(const policy::KnobInfo& info, const policy::KnobPlan& plan, const Observed* seen) {
  std::string origin = policy::toText(plan.origin);
  if (seen != nullptr && plan.origin.kind == policy::Origin::Kind::none && !seen->origin.empty()) origin = seen->origin;
  Node node = Node::map();
  node.set("knob", Node::string(std::string(info.name)));
  node.set("asked", plan.asked ? Node::string(*plan.asked) : Node::null());
  node.set("wanted", plan.wanted ? valueNode(*plan.wanted) : Node::null());
  node.set("origin", Node::string(origin));
  node.set("file", textOrNull(std::string(info.file)));
  if (seen != nullptr) {
    node.set("current", seen->current);
    node.set("effective", seen->effective);
    node.set("takesEffect", seen->takesEffect);
  }
  node.set("why", Node::string(joinSentences(seen != nullptr ? seen->why : std::string(), plan.why)));
  return node;
}

const ContainerState* findContainer(const PodState& pod, const std::string& name) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [&](const ContainerState& container) { return container.name == name; });
  return found == pod.containers.end() ? nullptr : &*found;
}

// `pod` is null for a file.
Node podNode(const policy::PodPlan& plan, const PodState* pod, bool suspended) {
  std::vector<Node> containers;
  for (const auto& container : plan.containers) {
    const ContainerState* state = pod == nullptr ? nullptr : findContainer(*pod, container.name);
    std::vector<Node> rows;
    for (const auto& info : policy::knobs()) {
      const auto& knob = container.at(info.knob);
      const Observed seen = pod == nullptr ? Observed{} : observe(info, knob, state, suspended);
      rows.push_back(knobNode(info, knob, pod == nullptr ? nullptr : &seen));
    }
    Node node = Node::map();
    node.set("name", Node::string(container.name));
    node.set("cgroup", textOrNull(state == nullptr ? std::string() : state->cgroup));
    node.set("knobs", Node::list(std::move(rows)));
    containers.push_back(std::move(node));
  }
  std::vector<Node> findings;
  findings.reserve(plan.findings.size());
  for (const auto& finding : plan.findings) findings.push_back(findingNode(finding));
  Node node = Node::map();
  node.set("namespace", Node::string(plan.nameSpace));
  node.set("pod", Node::string(plan.name));
  node.set("uid", pod == nullptr ? Node::null() : textOrNull(plan.uid));
  node.set("managed", Node::boolean(plan.managed));
  node.set("containers", Node::list(std::move(containers)));
  node.set("findings", Node::list(std::move(findings)));
  return node;
}

// The kernel's own value of a control file, which says nothing.
bool isKernelDefault(const Node& row) {
  const std::string current = field(row, "current");
  const auto file = cgroup::findFile(field(row, "file"));
  if (current.empty() || !file) return true;
  switch (*file) {
    case cgroup::File::memoryMin:
    case cgroup::File::memoryLow:
      return current == "0";
    case cgroup::File::oomGroup:
      return current == "false";
    case cgroup::File::zswapWriteback:
      return current == "true";
    default:
      return current == "max";
  }
}

bool worthShowing(const Node& row) {
  return !field(row, "asked").empty() || !field(row, "wanted").empty() || !isKernelDefault(row);
}

std::string containerText(const Node& container, bool all) {
  Table table({{"KNOB"},
               {"FILE", Align::left, true},
               {"ASKED", Align::left, true},
               {"WANTED", Align::left, true},
               {"CURRENT", Align::left, true},
               {"EFFECTIVE", Align::left, true},
               {"TAKES EFFECT", Align::left, true},
               {"ORIGIN"},
               {"WHY", Align::left, true}});
  for (const Node& row : itemsOf(container, "knobs")) {
    if (!all && !worthShowing(row)) continue;
    table.add({field(row, "knob"), field(row, "file"), field(row, "asked"), cell(row, "wanted"), cell(row, "current"),
               cell(row, "effective"), yesNo(row, "takesEffect"), field(row, "origin"), field(row, "why")});
  }
  const std::string path = field(container, "cgroup");
  std::string out =
      printable(fmt::format("  container {}{}{}", field(container, "name"), path.empty() ? "" : ", cgroup ", path));
  return table.empty() ? out + ": nothing is asked for\n" : out + '\n' + table.text(4);
}

std::string podText(const Node& pod, bool all) {
  const std::string uid = field(pod, "uid");
  std::string out = printable(
      fmt::format("pod {}/{}{}{}", field(pod, "namespace"), field(pod, "pod"), uid.empty() ? "" : ", uid ", uid));
  if (field(pod, "managed") == "false") return out + ": not managed (memqos.io/managed: \"false\")\n";
  out += '\n';
  for (const Node& container : itemsOf(pod, "containers")) out += containerText(container, all);
  return out;
}

}  // namespace

Node explainPod(const PodState& pod, bool suspended) {
  return podNode(pod.plan, &pod, suspended);
}
Node explainPod(const policy::PodPlan& plan) {
  return podNode(plan, nullptr, false);
}

Node explainBody(std::vector<Node> pods) {
  Node body = Node::map();
  body.set("pods", Node::list(std::move(pods)));
  return body;
}

std::optional<Node> explainBody(const Snapshot& snapshot, std::string_view pod) {
  for (const PodState& state : snapshot.pods) {
    if (fmt::format("{}/{}", state.plan.nameSpace, state.plan.name) == pod)
      return explainBody({explainPod(state, snapshot.suspended)});
  }
  return std::nullopt;
}

std::string explainText(const Node& body, bool all) {
  std::string out;
  for (const Node& pod : itemsOf(body, "pods")) {
    if (!out.empty()) out += '\n';
    out += podText(pod, all);
  }
  return out;
}

}  // namespace memqos::report
