// A pod of two containers with any annotations, one "KEY=VALUE" a line, down to its plan.
#include "policy/fuzzing.h"

namespace {

using namespace memqos;

policy::Settings settings() {
  policy::Settings settings;
  settings.classes["gold"].texts = {{policy::Knob::memoryMin, {"50%", {}, {}}},
                                    {policy::Knob::memoryHigh, {"auto", {}, {}}}};
  settings.defaults.texts = {{policy::Knob::oomGroup, {"true", {}, {}}}};
  return settings;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const policy::Settings kSettings = settings();
  const auto pod = policy::podOf(testing::textOf(data, size));
  policy::checkedPlan(pod, kSettings, 1);
  static_cast<void>(policy::cgroupKeys(pod));
  return 0;
}
