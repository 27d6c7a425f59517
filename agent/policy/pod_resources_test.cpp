#include "policy/pod_resources.h"

namespace memqos::policy {
namespace {

constexpr std::optional<std::int64_t> kNone;

// Amounts in the order {cpu, memory}.
ContainerResources container(Amounts requests, Amounts limits, ContainerKind kind = ContainerKind::regular) {
  return {kind, {requests, limits}};
}

struct Row {
  std::string what;
  std::vector<ContainerResources> containers;
  Resources podLevel;
  QosClass qos;
};

TEST(PodResources, QosClass) {
  using enum QosClass;
  const auto full = container({100, 64}, {100, 64});
  const std::vector<Row> rows = {
      {"nothing", {container({}, {})}, {}, bestEffort},
      {"no containers", {}, {}, bestEffort},
      {"zeros are nothing", {container({0, 0}, {0, 0})}, {}, bestEffort},
      {"a request", {container({kNone, 64}, {})}, {}, burstable},
      {"cpu alone", {container({100, kNone}, {})}, {}, burstable},
      {"all equal", {full}, {}, guaranteed},
      {"requests default to limits", {container({}, {100, 64})}, {}, guaranteed},
      {"memory alone is not enough", {container({kNone, 64}, {kNone, 64})}, {}, burstable},
      {"request below limit", {container({100, 32}, {100, 64})}, {}, burstable},
      {"request of 0 is below the limit", {container({100, 0}, {100, 64})}, {}, burstable},
      {"one container without", {full, container({}, {})}, {}, burstable},
      {"an init container counts", {full, container({}, {}, ContainerKind::init)}, {}, burstable},
      {"a full init container", {full, container({1, 1}, {1, 1}, ContainerKind::init)}, {}, guaranteed},
      {"a sidecar counts", {full, container({}, {}, ContainerKind::sidecar)}, {}, burstable},
      {"an ephemeral one does not", {full, container({}, {}, ContainerKind::ephemeral)}, {}, guaranteed},
      {"pod level equal", {container({}, {})}, {{100, 64}, {100, 64}}, guaranteed},
      {"pod level limits alone", {container({}, {})}, {{}, {100, 64}}, guaranteed},
      {"pod level memory alone", {container({}, {})}, {{}, {kNone, 64}}, burstable},
      {"pod level wins over containers", {full}, {{50, 32}, {100, 64}}, burstable},
      {"pod level request is the containers' sum",
       {container({40, 32}, {}), container({60, 32}, {})},
       {{}, {100, 64}},
       guaranteed},
      {"less than the limit", {container({40, 32}, {})}, {{}, {100, 64}}, burstable},
      {"an init container may need most",
       {container({40, 32}, {}), container({100, 64}, {}, ContainerKind::init)},
       {{}, {100, 64}},
       guaranteed},
      {"with the sidecars before it",
       {container({}, {}), container({40, 32}, {}, ContainerKind::sidecar),
        container({60, 32}, {}, ContainerKind::init)},
       {{}, {100, 64}},
       guaranteed},
      {"but not with those after it",
       {container({}, {}), container({60, 32}, {}, ContainerKind::init),
        container({40, 32}, {}, ContainerKind::sidecar)},
       {{}, {100, 64}},
       burstable},
      {"pod level limits from the containers", {full}, {{100, 64}, {}}, guaranteed},
      {"not if one has none", {full, container({}, {})}, {{100, 64}, {}}, burstable},
      {"absurd sums saturate",
       {container({1, INT64_MAX}, {1, INT64_MAX}), container({1, INT64_MAX}, {1, INT64_MAX})},
       {},
       guaranteed},
  };
  for (const Row& row : rows) EXPECT_EQ(qosOf(row.containers, row.podLevel), row.qos) << row.what;
}

}  // namespace
}  // namespace memqos::policy
