// Pods as literals, for this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policy/plan.h"

namespace memqos::policy {

inline Bytes bytesOf(const std::string& quantity) {
  return parseQuantity(quantity).value();
}
inline std::optional<Bytes> maybeBytes(const std::string& quantity) {
  return quantity.empty() ? std::nullopt : std::optional(bytesOf(quantity));
}

// "" for a request or limit that is not set.
inline Container container(std::string name, const std::string& request, const std::string& limit,
                           ContainerKind kind = ContainerKind::regular) {
  return {std::move(name), kind, maybeBytes(request), maybeBytes(limit)};
}

using Annotated = std::vector<std::pair<std::string, std::string>>;
inline Pod podOf(std::vector<Container> containers, const Annotated& annotations = {}) {
  Pod pod;
  pod.nameSpace = "shop";
  pod.name = "web-0";
  pod.uid = "11111111-2222-3333-4444-555555555555";
  pod.containers = std::move(containers);
  pod.source.file = "pod.yaml";
  std::size_t line = 10;
  for (const auto& [key, value] : annotations) pod.annotations.push_back({key, value, {line++, 7}});
  return pod;
}
// One container "app".
inline Pod podOf(const std::string& request, const std::string& limit, const Annotated& annotations) {
  return podOf({container("app", request, limit)}, annotations);
}

inline const NodeFacts kNode{mebibytes(64 * 1024), kPage};

inline PodPlan planOf(const Pod& pod, const PodFacts& facts = {}, const Settings& settings = {},
                      const NodeFacts& node = kNode) {
  return plan(pod, facts, node, settings);
}
inline PodFacts factsOf(ContainerFacts facts) {
  return {{}, {{"app", std::move(facts)}}};
}

// What the first container is to get, as the kernel's text; "-" for nothing.
inline std::string wanted(const PodPlan& plan, Knob knob, std::size_t index = 0) {
  const auto& value = plan.containers.at(index).at(knob).wanted;
  return value ? toText(*value) : "-";
}
inline std::string text(const std::string& quantity) {
  return std::to_string(bytesOf(quantity).count);
}

// "Reason key container" of each finding.
inline std::vector<std::string> summaries(const PodPlan& plan) {
  std::vector<std::string> out;
  for (const Finding& finding : plan.findings) {
    out.push_back(std::string(name(finding.reason)) + " " + finding.key +
                  (finding.container.empty() ? "" : " " + finding.container));
  }
  return out;
}

// A case of one container "app"; values as quantities, "-" for nothing, "max".
struct RuleRow {
  std::string what;
  std::string request;
  std::string limit;
  Annotated knobs;  // without the prefix
  std::vector<std::pair<Knob, std::string>> wanted;
  std::vector<Knob> adjusted;
  ContainerFacts facts{};
};

inline std::string bytesText(const std::string& value) {
  return value == "max" || value == "-" || value == "off" ? value : text(value);
}

inline void checkRows(const std::vector<RuleRow>& rows, const Settings& settings = {}) {
  for (const RuleRow& row : rows) {
    Annotated annotations;
    for (const auto& [knob, value] : row.knobs) annotations.emplace_back("memqos.io/" + knob, value);
    const PodPlan plan = planOf(podOf(row.request, row.limit, annotations), factsOf(row.facts), settings);
    for (const auto& [knob, value] : row.wanted) {
      EXPECT_EQ(wanted(plan, knob), bytesText(value)) << row.what << ": " << info(knob).name;
    }
    std::vector<std::string> expected;
    for (const Knob knob : row.adjusted)
      expected.push_back("AdjustedValue memqos.io/" + std::string(info(knob).name) + " app");
    EXPECT_EQ(summaries(plan), expected) << row.what;
    for (const Knob knob : row.adjusted) EXPECT_NE(plan.containers[0].at(knob).why, "") << row.what;
  }
}

}  // namespace memqos::policy
