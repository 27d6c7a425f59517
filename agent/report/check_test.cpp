#include "report/check.h"

#include <gtest/gtest.h>

#include "report/values.h"

namespace memqos::report {
namespace {

policy::Finding badQuantity() {
  policy::Finding finding;
  finding.reason = policy::Reason::invalidAnnotation;
  finding.nameSpace = "shop";
  finding.pod = "web";
  finding.container = "app";
  finding.key = "memory-min.memqos.io/app";
  finding.value = "64MB";
  finding.problem = "'64MB' is not a quantity of bytes";
  finding.advice = "write 64M or 64Mi";
  finding.source = {"web.yaml", {12, 31}, "Deployment"};
  return finding;
}

policy::Finding adjusted() {
  policy::Finding finding;
  finding.reason = policy::Reason::adjustedValue;
  finding.nameSpace = "default";
  finding.pod = "db";
  finding.key = "memqos.io/memory-low";
  finding.problem = "raised to memory-min";
  finding.source = {"db.yaml", {}, "Pod"};
  return finding;
}

TEST(Check, AFindingHasEveryFieldThatScriptsRelyOn) {
  EXPECT_EQ(
      document::dumpJson(findingNode(badQuantity())),
      R"({"file":"web.yaml","line":12,"column":31,"kind":"Deployment","namespace":"shop","pod":"web",)"
      R"("container":"app","key":"memory-min.memqos.io/app","value":"64MB","severity":"error",)"
      R"("reason":"InvalidAnnotation","problem":"'64MB' is not a quantity of bytes","advice":"write 64M or 64Mi"})");
}

TEST(Check, ABodyCountsPodsAndKeepsTheOrder) {
  const document::Node body = checkNode(3, std::vector{adjusted(), badQuantity()});
  EXPECT_EQ(field(body, "pods"), "3");
  const auto& rows = itemsOf(body, "findings");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(field(rows[0], "severity"), "warning");
  EXPECT_EQ(field(rows[0], "reason"), "AdjustedValue");
  EXPECT_EQ(field(rows[1], "severity"), "error");
}

TEST(Check, LinesAreLikeACompilers) {
  EXPECT_EQ(
      findingLine(findingNode(badQuantity())),
      "web.yaml:12:31: error: memory-min.memqos.io/app \"64MB\": '64MB' is not a quantity of bytes; write 64M or 64Mi "
      "(shop/web, container app)");
  EXPECT_EQ(findingLine(findingNode(adjusted())),
            "db.yaml: warning: memqos.io/memory-low: raised to memory-min (default/db)");
}

TEST(Check, ALineStaysALine) {
  policy::Finding finding = badQuantity();
  finding.value = "1\n\x1b[31m";
  EXPECT_EQ(findingLine(findingNode(finding)).find('\n'), std::string::npos);
  EXPECT_EQ(findingLine(findingNode(finding)).find('\x1b'), std::string::npos);
}

TEST(Check, AConfigurationFileHasNoKind) {
  policy::Finding finding;
  finding.reason = policy::Reason::invalidConfiguration;
  finding.problem = "not a map";
  finding.source.file = "memqos.yaml";
  EXPECT_EQ(field(findingNode(finding), "kind"), "");
  EXPECT_EQ(findingLine(findingNode(finding)), "memqos.yaml: error: not a map");
}

TEST(Check, TextEndsInASummary) {
  EXPECT_EQ(checkText(checkNode(0, {})), "0 pods, 0 errors, 0 warnings\n");
  EXPECT_EQ(checkText(checkNode(1, std::vector{badQuantity()})),
            findingLine(findingNode(badQuantity())) + "\n1 pod, 1 error, 0 warnings\n");
  EXPECT_EQ(countErrors(std::vector{badQuantity(), adjusted(), badQuantity()}), 2U);
}

}  // namespace
}  // namespace memqos::report
