#include "cli/input.h"

#include <istream>
#include <iterator>

#include "base/quantity.h"
#include "cli/commands.h"
#include "config/config.h"
#include "document/node.h"

namespace memqos::cli {
namespace {

config::Manifests unreadable(const std::string& file, std::string problem, std::string advice) {
  policy::Finding finding;
  finding.reason = policy::Reason::invalidManifest;
  finding.source.file = file;
  finding.source.kind.clear();
  finding.problem = std::move(problem);
  finding.advice = std::move(advice);
  return {.pods = {}, .findings = {std::move(finding)}};
}

// Everything up to the cap of a document, and one byte more, so that the parser refuses what is too large.
std::string readAll(std::istream& in) {
  const std::size_t most = document::Caps().bytes + 1;
  std::string text;
  std::string chunk(std::size_t{64} * 1024, '\0');
  while (text.size() < most && in) {
    in.read(chunk.data(), static_cast<std::streamsize>(std::min(chunk.size(), most - text.size())));
    text.append(chunk, 0, static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

}  // namespace

Result<Rules> readRules(const std::optional<std::string>& config, const std::optional<std::string>& allocatable) {
  auto loaded = config::load(config.value_or(kDefaultConfigDir), !config);
  if (!loaded) return tl::unexpected(loaded.error());
  Rules rules;
  rules.settings = std::move(loaded->config.policy);
  rules.findings = std::move(loaded->findings);
  if (allocatable) {
    const auto bytes = parseQuantity(*allocatable);
    if (!bytes) return tl::unexpected(Error(bytes.error()).in("--allocatable"));
    if (bytes->count <= 0) return fail(Code::invalid, "--allocatable: must be more than 0");
    rules.node.allocatable = *bytes;
  }
  return rules;
}

config::Manifests readInput(const std::string& file, Context& context) {
  if (file == "-") return config::parseManifests(readAll(context.streams.in), "-", config::Templates::include);
  auto manifests = config::readManifests(file, config::Templates::include);
  if (manifests) return std::move(*manifests);
  Error error = manifests.error();
  error.path.clear();  // the finding names the file
  return unreadable(file, error.text(), error.code == Code::gone ? "check the file's name" : "");
}

policy::PodPlan planOf(const policy::Pod& pod, const Rules& rules) {
  policy::Settings settings = rules.settings;
  // A bare pod may be meant for the standalone mode; a template never is.
  settings.cgroupKeysAllowed = pod.source.kind == "Pod";
  return policy::plan(pod, {}, rules.node, settings);
}

}  // namespace memqos::cli
