#include "report/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/table.h"
#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;

Node currentNode(const ContainerState& container, cgroup::File file) {
  const auto& value = container.at(file).current;
  return value ? limitNode(*value) : Node::null();
}

Node row(const PodState& pod, const ContainerState& container) {
  Node node = Node::map();
  node.set("namespace", Node::string(pod.plan.nameSpace));
  node.set("pod", Node::string(pod.plan.name));
  node.set("container", Node::string(container.name));
  node.set("usage", container.usage ? Node::integer(container.usage->count) : Node::null());
  node.set("min", currentNode(container, cgroup::File::memoryMin));
  node.set("low", currentNode(container, cgroup::File::memoryLow));
  node.set("high", currentNode(container, cgroup::File::memoryHigh));
  node.set("pressureSomeSeconds", container.pressureSome
                                      ? Node::real(std::chrono::duration<double>(*container.pressureSome).count())
                                      : Node::null());
  node.set("throttleEscapes", Node::integer(static_cast<std::int64_t>(container.throttleEscapes)));
  return node;
}

std::string usageCell(const Node& row) {
  const Node* usage = row.find("usage");
  if (usage == nullptr) return {};
  const auto count = usage->asInteger();
  return count ? about(Bytes{*count}) : std::string();
}

std::string pressureCell(const Node& row) {
  const Node* pressure = row.find("pressureSomeSeconds");
  if (pressure == nullptr) return {};
  const auto seconds = pressure->asReal();
  return seconds ? fmt::format("{:.1f}s", *seconds) : std::string();
}

}  // namespace

Node topBody(const Snapshot& snapshot) {
  std::vector<std::pair<const PodState*, const ContainerState*>> containers;
  for (const PodState& pod : snapshot.pods) {
    for (const ContainerState& container : pod.containers) {
      if (!container.cgroup.empty()) containers.emplace_back(&pod, &container);
    }
  }
  const auto key = [](const auto& entry) {
    return std::tie(entry.first->plan.nameSpace, entry.first->plan.name, entry.second->name);
  };
  std::stable_sort(containers.begin(), containers.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<Node> rows;
  rows.reserve(containers.size());
  for (const auto& [pod, container] : containers) rows.push_back(row(*pod, *container));
  Node body = Node::map();
  body.set("containers", Node::list(std::move(rows)));
  return body;
}

std::string topText(const Node& body) {
  Table table({{"NAMESPACE"},
               {"POD"},
               {"CONTAINER"},
               {"USAGE", Align::right},
               {"MIN", Align::right},
               {"LOW", Align::right},
               {"HIGH", Align::right},
               {"PRESSURE", Align::right},
               {"ESCAPES", Align::right}});
  for (const Node& row : itemsOf(body, "containers")) {
    table.add({field(row, "namespace"), field(row, "pod"), field(row, "container"), usageCell(row), cell(row, "min"),
               cell(row, "low"), cell(row, "high"), pressureCell(row), field(row, "throttleEscapes")});
  }
  return table.text();
}

}  // namespace memqos::report
