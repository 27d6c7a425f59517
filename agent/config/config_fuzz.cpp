// The agent's configuration: two files with a line "===" between them.
#include "config/config.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  constexpr std::string_view kBetween = "\n===\n";
  const auto cut = text.find(kBetween);
  std::map<std::string, std::string> files{{"a.yaml", std::string(text.substr(0, cut))}};
  if (cut != std::string_view::npos) files["b.yaml"] = text.substr(cut + kBetween.size());

  const auto loaded = config::parse(files);
  for (const policy::Finding& finding : loaded.findings) {
    require(finding.reason == policy::Reason::invalidConfiguration, "a finding is about the configuration");
    require(files.contains(finding.source.file), "a finding says which file");
    require(!finding.problem.empty(), "a finding says what is wrong");
  }
  const policy::Settings& settings = loaded.config.policy;
  for (const Percent share : {settings.guardrails.maxShareMin, settings.guardrails.maxShareLow}) {
    require(share.billionths >= 0 && share.billionths <= 100'000'000'000, "a share is one");
  }
  require(settings.guardrails.smallestHigh >= Bytes{0}, "no size is negative");
  require(settings.throttlingFactorPermille > 0 && settings.throttlingFactorPermille <= 1000, "a factor in (0, 1]");
  const std::string root = "/" + loaded.config.cgroupRoot + "/";
  require(root.find("/../") == std::string::npos, "the root of the pods is below the mount");
  return 0;
}
