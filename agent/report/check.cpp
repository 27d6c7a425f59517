#include "report/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/table.h"
#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;

std::string sentence(const std::string& key, const std::string& value, const std::string& problem,
                     const std::string& advice) {
  std::string out;
  if (!key.empty()) {
    out = key;
    if (!value.empty()) out += fmt::format(" \"{}\"", value);
    out += ": ";
  }
  out += problem;
  if (!advice.empty()) out += problem.empty() ? advice : "; " + advice;
  return out;
}

// Where: the place in a file if there is one, else nothing.
std::string place(const Node& finding) {
  const std::string file = field(finding, "file");
  if (file.empty()) return {};
  const std::string line = field(finding, "line");
  if (line.empty() || line == "0") return file + ": ";
  return fmt::format("{}:{}:{}: ", file, line, field(finding, "column"));
}

// Whose: "(shop/web, container app)".
std::string subject(const Node& finding) {
  const std::string pod = field(finding, "pod");
  if (pod.empty()) return {};
  const std::string container = field(finding, "container");
  return fmt::format(" ({}/{}{}{})", field(finding, "namespace"), pod, container.empty() ? "" : ", container ",
                     container);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string_view name(policy::Severity severity) {
  return severity == policy::Severity::error ? "error" : "warning";
}

std::string sentence(const policy::Finding& f) {
  return sentence(f.key, f.value, f.problem, f.advice);
}

Node findingNode(const policy::Finding& f) {
  Node node = Node::map();
  node.set("file", Node::string(f.source.file));
  node.set("line", Node::integer(static_cast<std::int64_t>(f.source.position.line)));
  node.set("column", Node::integer(static_cast<std::int64_t>(f.source.position.column)));
  // A configuration file is no Kubernetes object.
  node.set("kind", Node::string(f.reason == policy::Reason::invalidConfiguration ? "" : f.source.kind));
  node.set("namespace", Node::string(f.nameSpace));
  node.set("pod", Node::string(f.pod));
  node.set("container", Node::string(f.container));
  node.set("key", Node::string(f.key));
  node.set("value", Node::string(f.value));
  node.set("severity", Node::string(std::string(name(policy::severityOf(f.reason)))));
  node.set("reason", Node::string(std::string(policy::name(f.reason))));
  node.set("problem", Node::string(f.problem));
  node.set("advice", Node::string(f.advice));
  return node;
}

Node checkNode(std::size_t pods, std::span<const policy::Finding> findings) {
  std::vector<Node> rows;
  rows.reserve(findings.size());
  for (const auto& finding : findings) rows.push_back(findingNode(finding));
  Node body = Node::map();
  body.set("pods", Node::integer(static_cast<std::int64_t>(pods)));
  body.set("findings", Node::list(std::move(rows)));
  return body;
}

std::string findingLine(const Node& finding) {
  return printable(fmt::format(
      "{}{}: {}{}", place(finding), field(finding, "severity"),
      sentence(field(finding, "key"), field(finding, "value"), field(finding, "problem"), field(finding, "advice")),
      subject(finding)));
}

std::string checkText(const Node& body) {
  std::string out;
  std::size_t errors = 0;
  const auto& findings = itemsOf(body, "findings");
  for (const Node& finding : findings) {
    out += findingLine(finding) + '\n';
    if (field(finding, "severity") == "error") ++errors;
  }
  const std::string pods = field(body, "pods");
  return out + fmt::format("{} {}, {}, {}\n", pods, pods == "1" ? "pod" : "pods", counted(errors, "error"),
                           counted(findings.size() - errors, "warning"));
}

std::size_t countErrors(std::span<const policy::Finding> findings) {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [](const policy::Finding& f) {
    return policy::severityOf(f.reason) == policy::Severity::error;
  }));
}

}  // namespace memqos::report
