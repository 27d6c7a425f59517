#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/agent.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "report/check.h"
#include "report/values.h"

namespace memqos::cli {
namespace {

using document::Node;

bool isFile(std::string_view target) {
  constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};
  return target == "-" ||
         std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return target.ends_with(e); });
}

bool isPod(std::string_view target) {
  const auto slash = target.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < target.size() &&
         target.find('/', slash + 1) == std::string_view::npos;
}

int show(const ExplainFlags& flags, Context& context, const Node& body, int status) {
  // The table has no room for sentences about keys, and JSON has them in each pod.
  if (flags.output == Output::table) {
    for (const Node& pod : report::itemsOf(body, "pods")) {
      for (const Node& finding : report::itemsOf(pod, "findings"))
        context.streams.err << report::findingLine(finding) << '\n';
    }
  }
  return print(
      context, flags.output, body, [&] { return report::explainText(body, flags.all); }, status);
}

int explainFile(const ExplainFlags& flags, Context& context) {
  const auto rules = readRules(flags.config, flags.allocatable);
  if (!rules) return complain(context, kUserError, rules.error().text());
  const config::Manifests manifests = readInput(flags.target, context);
  std::size_t errors = report::countErrors(rules->findings) + report::countErrors(manifests.findings);
  for (const auto& findings : {rules->findings, manifests.findings}) {
    for (const auto& finding : findings)
      context.streams.err << report::findingLine(report::findingNode(finding)) << '\n';
  }
  std::vector<Node> pods;
  for (const auto& pod : manifests.pods) {
    const policy::PodPlan plan = planOf(pod, *rules);
    errors += report::countErrors(plan.findings);
    pods.push_back(report::explainPod(plan));
  }
  if (pods.empty() && errors == 0) {
    return complain(context, kUserError, fmt::format("{}: no pod and no workload template in it", flags.target));
  }
  return show(flags, context, report::explainBody(std::move(pods)), errors > 0 ? kUserError : kOk);
}

int explainRunning(const ExplainFlags& flags, Context& context) {
  if (flags.allocatable || flags.config) {
    return complain(context, kUserError,
                    "--allocatable and --config go with a FILE; a pod on this node has its agent's");
  }
  const auto body = ask(context, flags.runDir, "GET", "/explain?pod=" + percentEncoded(flags.target));
  if (!body) return complain(context, body.error().status, body.error().sentence);
  return show(flags, context, *body, kOk);
}

}  // namespace

int explain(const ExplainFlags& flags, Context& context) {
  if (isFile(flags.target)) return explainFile(flags, context);
  if (isPod(flags.target)) return explainRunning(flags, context);
  return complain(
      context, kUserError,
      fmt::format("'{}' is neither a pod (NAMESPACE/NAME) nor a file (*.yaml, *.yml, *.json or -)", flags.target));
}

}  // namespace memqos::cli
