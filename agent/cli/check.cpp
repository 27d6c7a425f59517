#include <algorithm>
#include <tuple>

#include "cli/commands.h"
#include "cli/input.h"
#include "report/check.h"

namespace memqos::cli {

int check(const CheckFlags& flags, Context& context) {
  const auto rules = readRules(flags.config, flags.allocatable);
  if (!rules) return complain(context, kUserError, rules.error().text());

  std::vector<policy::Finding> findings = rules->findings;
  std::size_t pods = 0;
  for (const std::string& file : flags.files) {
    const config::Manifests manifests = readInput(file, context);
    std::vector<policy::Finding> ofFile = manifests.findings;
    pods += manifests.pods.size();
    for (const auto& pod : manifests.pods) {
      const policy::PodPlan plan = planOf(pod, *rules);
      ofFile.insert(ofFile.end(), plan.findings.begin(), plan.findings.end());
    }
    std::stable_sort(ofFile.begin(), ofFile.end(), [](const policy::Finding& a, const policy::Finding& b) {
      return std::tie(a.source.position.line, a.source.position.column) <
             std::tie(b.source.position.line, b.source.position.column);
    });
    findings.insert(findings.end(), ofFile.begin(), ofFile.end());
  }
  const document::Node body = report::checkNode(pods, findings);
  const int status = report::countErrors(findings) > 0 ? kUserError : kOk;
  return print(
      context, flags.output, body, [&] { return report::checkText(body); }, status);
}

}  // namespace memqos::cli
