// For this room's fuzz targets: a pod from text, and what holds for every plan.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "policy/plan.h"
#include "testing/fuzz.h"

namespace memqos::policy {

using testing::require;

// Two containers; one annotation a line, "KEY=VALUE".
inline Pod podOf(std::string_view text) {
  Pod pod;
  pod.name = "web-0";
  pod.uid = "11111111-2222-3333-4444-555555555555";
  pod.containers = {{"app", ContainerKind::regular, mebibytes(64), mebibytes(256)},
                    {"proxy", ContainerKind::sidecar, {}, {}}};
  while (!text.empty()) {
    auto line = testing::takeUntil(text, '\n');
    const auto key = testing::takeUntil(line, '=');
    pod.annotations.push_back({std::string(key), std::string(line), {}});
  }
  return pod;
}

inline bool isPrintable(const std::string& text) {
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return std::none_of(text.begin(), text.end(), isControl) && validUtf8(text) == text;
}

inline void checkFindings(const PodPlan& plan, std::size_t sources) {
  // Beside what the readers report at most one adjustment of each knob of a container.
  require(plan.findings.size() <= sources * 65 + plan.containers.size() * kKnobCount, "nobody is flooded");
  for (const Finding& finding : plan.findings) {
    require(!finding.problem.empty() && isPrintable(finding.problem), "a problem is a printable sentence");
    require(isPrintable(finding.advice), "an advice is printable");
    require(finding.key.size() <= 260 && finding.value.size() <= 260, "long texts are cut");
  }
}

inline void checkContainer(const ContainerPlan& container) {
  for (const KnobInfo& knob : knobs()) {
    const auto limit = container.wantedLimit(knob.knob);
    require(!limit || limit->bytes() >= Bytes{0}, "nothing negative is wanted");
  }
  for (const Order& order : orders()) {
    const auto moved = container.wantedLimit(order.knob);
    const auto bound = order.bound ? container.wantedLimit(*order.bound) : container.limit;
    require(!moved || !bound || bound->isMax() || *moved <= *bound, "two numbers do not cross");
  }
}

// `sources`: how many readers may each report 64 findings and one that counts the rest.
inline PodPlan checkedPlan(const Pod& pod, const Settings& settings, std::size_t sources) {
  auto plan = policy::plan(pod, {}, {mebibytes(4096), kPage}, settings);
  require(plan.managed ? plan.containers.size() == 2 : plan.containers.empty(), "all containers or none");
  checkFindings(plan, sources);
  for (const ContainerPlan& container : plan.containers) checkContainer(container);
  return plan;
}

}  // namespace memqos::policy
