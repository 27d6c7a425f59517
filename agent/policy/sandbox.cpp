#include "policy/sandbox.h"

#include <fmt/format.h>

#include <algorithm>

namespace memqos::policy {

bool runsInSandbox(const Pod& pod, const Settings& settings) {
  if (pod.runtimeClass.empty()) return false;
  return std::any_of(settings.sandboxedRuntimeClasses.begin(), settings.sandboxedRuntimeClasses.end(),
                     [&](const std::string& name) {
                       if (!name.ends_with('*')) return pod.runtimeClass == name;
                       return pod.runtimeClass.starts_with(std::string_view(name).substr(0, name.size() - 1));
                     });
}

void dropEngines(const Pod& pod, ContainerPlan& plan) {
  for (const KnobInfo& knob : knobs()) {
    KnobPlan& item = plan.at(knob.knob);
    if (knob.level != Level::engine || knob.form == Form::className || !item.wanted) continue;
    item.wanted.reset();
    item.why = fmt::format("is off: the pod runs in the sandbox of its RuntimeClass {}", inQuotes(pod.runtimeClass));
  }
}

std::optional<Limit> sandboxValue(std::span<const ContainerPlan* const> containers, Knob knob) {
  const KnobInfo& what = info(knob);
  std::optional<Limit> out;
  for (const ContainerPlan* container : containers) {
    if (container->kind == ContainerKind::init) continue;
    const auto wanted = container->wantedLimit(knob);
    if (what.form == Form::flag) {
      const bool strict = knob == Knob::zswapWriteback;  // its default is true, that of the others false
      if (wanted) out = strict ? std::min(out.value_or(*wanted), *wanted) : std::max(out.value_or(*wanted), *wanted);
      continue;
    }
    if (what.level == Level::bound && (!wanted || wanted->isMax())) return std::nullopt;
    if (wanted) out = Limit(out.value_or(Limit()).bytes() + wanted->bytes());
  }
  return out;
}

}  // namespace memqos::policy
