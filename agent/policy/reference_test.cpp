#include "policy/reference.h"

#include <fstream>
#include <iterator>

#include "policy/dialects.h"
#include "policy/knobs.h"

namespace memqos::policy {
namespace {

TEST(Reference, TheDocumentsAreUpToDate) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> documents = {
      {"docs/reference/annotations.md", {knobReference(), reasonReference()}},
      {"docs/reference/dialects.md", {koordinatorReference(), nriReference()}},
      {"charts/memqos/templates/admission-policy.yaml", {admissionVariables()}},
      {"charts/memqos/values.schema.json", {schemaKnobs()}},
  };
  for (const auto& [name, parts] : documents) {
    std::ifstream in(MEMQOS_SOURCE_DIR "/" + name, std::ios::binary);
    ASSERT_TRUE(in.is_open()) << name;
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto fresh = refreshGenerated(text, generatedParts());
    ASSERT_TRUE(fresh) << fresh.error().text();
    EXPECT_EQ(*fresh, text) << name << " is stale: run make generate";
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << name << ": the marks are gone";
  }
}

TEST(Reference, EveryFieldOfADialectHasARow) {
  const std::string tables = koordinatorReference() + nriReference();
  for (const DialectField& field : dialectFields()) {
    EXPECT_NE(tables.find("| `" + std::string(field.name) + "` |"), std::string::npos) << field.name;
  }
  EXPECT_NE(tables.find("| `lowLimitPercent` | 0 to 100 | `memory-low`: that percentage of the request |"),
            std::string::npos);
  EXPECT_NE(tables.find("| `wmarkMinAdj` | -25 to 50 | ignored: "), std::string::npos);
  EXPECT_NE(tables.find("| `memory.max` |  | refused: memory.max is the kubelet's"), std::string::npos);
}

TEST(Reference, EveryKnobHasARow) {
  const std::string table = knobReference();
  for (const KnobInfo& knob : knobs()) {
    EXPECT_NE(table.find("| `" + std::string(knob.name) + "` |"), std::string::npos) << knob.name;
  }
  EXPECT_NE(table.find("| `memory-high` | `memoryHigh` | quantity, `N%` of the limit, `auto`, `max` | `memory.high` |"),
            std::string::npos);
  EXPECT_NE(table.find("`off` (default), `watermark`"), std::string::npos);
}

TEST(Reference, TheAdmissionPolicyKnowsWhatEachKnobTakes) {
  const std::string policy = admissionVariables();
  for (const KnobInfo& knob : knobs()) {
    EXPECT_NE(policy.find("'" + std::string(knob.name) + "': '" + describeValues(knob) + "'"), std::string::npos);
    EXPECT_EQ(describeValues(knob).find_first_of("'\"\\\n"), std::string::npos) << knob.name;
  }
  EXPECT_NE(policy.find("'memory-high': ['auto', 'max']"), std::string::npos);
  EXPECT_NE(policy.find("'oom-group': ['true', 'false']"), std::string::npos);
  EXPECT_NE(policy.find("'memory-min': []"), std::string::npos);
  EXPECT_NE(policy.find("classKnobs\n      expression: >-\n        ['class']"), std::string::npos);
}

}  // namespace
}  // namespace memqos::policy
