// Other agents' annotations. The first line is the value of koordinator.sh/memoryQOS, each further one "KEY=VALUE".
#include "policy/dialects.h"

#include "policy/fuzzing.h"

namespace {

using namespace memqos;

policy::Settings settings() {
  policy::Settings settings;
  settings.dialects.koordinator = true;
  settings.dialects.nri = true;
  return settings;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const policy::Settings kSettings = settings();
  auto text = testing::textOf(data, size);
  const auto json = testing::takeUntil(text, '\n');
  auto pod = policy::podOf(text);
  pod.annotations.push_back({std::string(policy::kKoordinatorKey), std::string(json), {}});
  policy::checkedPlan(pod, kSettings, 2);
  const auto bytes = policy::parseKernelBytes(json);
  testing::require(!bytes || bytes->bytes().count >= 0, "no negative number is read");
  return 0;
}
