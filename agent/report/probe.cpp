#include "report/probe.h"

#include <fmt/format.h>

#include "report/table.h"
#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;

std::string commaList(const std::vector<Node>& words) {
  std::string out;
  for (const Node& word : words) out += (out.empty() ? "" : ", ") + word.scalar;
  return out;
}

std::string availability(const Node& row) {
  return field(row, "known") == "false" ? "unknown" : yesNo(row, "available");
}

}  // namespace

Node probeBody(const Probe& probe) {
  std::vector<Node> features;
  for (const auto& feature : probe.features) {
    std::vector<Node> needers;
    needers.reserve(feature.neededBy.size());
    for (const auto& knob : feature.neededBy) needers.push_back(Node::string(knob));
    Node row = Node::map();
    row.set("name", Node::string(feature.name));
    row.set("available", Node::boolean(feature.available));
    row.set("known", Node::boolean(feature.known));
    row.set("evidence", Node::string(feature.evidence));
    row.set("neededBy", Node::list(std::move(needers)));
    features.push_back(std::move(row));
  }
  Node hierarchy = Node::map();
  hierarchy.set("version", Node::integer(probe.cgroupVersion));
  hierarchy.set("driver", Node::string(std::string(cgroup::name(probe.driver))));
  hierarchy.set("root", Node::string(probe.root));
  Node body = Node::map();
  body.set("kernel", Node::string(probe.kernel));
  body.set("cgroup", std::move(hierarchy));
  body.set("features", Node::list(std::move(features)));
  return body;
}

std::string probeText(const Node& body) {
  const Node* found = body.find("cgroup");
  const Node hierarchy = found == nullptr ? Node::map() : *found;
  const std::string driver = field(hierarchy, "driver");
  std::string out = printable(fmt::format("kernel  {}", field(body, "kernel"))) + '\n';
  out += printable(fmt::format("cgroup  v{} at {}, {}", field(hierarchy, "version"), field(hierarchy, "root"),
                               driver == "none" ? "no kubelet's pods found" : driver + " driver"));
  out += "\n\n";
  Table table({{"FEATURE"}, {"AVAILABLE"}, {"EVIDENCE"}, {"NEEDED BY"}});
  for (const Node& row : itemsOf(body, "features")) {
    table.add({field(row, "name"), availability(row), field(row, "evidence"), commaList(itemsOf(row, "neededBy"))});
  }
  return out + table.text();
}

}  // namespace memqos::report
