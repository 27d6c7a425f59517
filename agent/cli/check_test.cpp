#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/harness.h"
#include "report/values.h"

namespace memqos::cli {
namespace {

using report::field;
using report::itemsOf;
using testing::HasSubstr;
using Check = Program;

constexpr const char* kGoodPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations:
    memqos.io/memory-min: 64Mi
spec:
  containers:
  - name: app
    resources:
      requests: {memory: 128Mi}
      limits: {memory: 256Mi}
)";

// The same pod with a quantity that is none.
std::string badPod() {
  std::string text = kGoodPod;
  return text.replace(text.find("64Mi"), 4, "64MB");
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += by + line + "\n";
  return out;
}

constexpr const char* kTemplate = R"(metadata:
  annotations:
    memqos.io/memory-min: 64MB
spec:
  containers:
  - name: app
    resources: {requests: {memory: 128Mi}, limits: {memory: 256Mi}}
)";

std::string deployment() {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n" +
         indented(kTemplate, "    ");
}

std::string cronJob() {
  return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec:\n  jobTemplate:\n    spec:\n      "
         "template:\n" +
         indented(kTemplate, "        ");
}

TEST_F(Check, AGoodPodIsQuiet) {
  const Ran ran = run({"check", "--config", noConfig(), file("web.yaml", kGoodPod)});
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "1 pod, 0 errors, 0 warnings\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(Check, ABadValueHasItsPlaceAndWhatWouldBeRight) {
  const std::string path = file("web.yaml", badPod());
  const Ran ran = run({"check", "--config", noConfig(), path});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr(path + ":7:27: error: memqos.io/memory-min \"64MB\": "));
  EXPECT_THAT(ran.out, HasSubstr("64Mi"));  // the advice
  EXPECT_THAT(ran.out, HasSubstr("1 pod, 1 error, 0 warnings\n"));
}

TEST_F(Check, JsonHasTheDocumentedFields) {
  const std::string path = file("web.yaml", badPod());
  const Ran ran = run({"check", "--config", noConfig(), "--output", "json", path});
  EXPECT_EQ(ran.status, 1);
  const document::Node body = ran.json();
  EXPECT_EQ(body.find("pods")->asInteger().value(), 1);
  ASSERT_EQ(itemsOf(body, "findings").size(), 1U);
  const document::Node& finding = itemsOf(body, "findings")[0];
  EXPECT_EQ(field(finding, "file"), path);
  EXPECT_EQ(finding.find("line")->asInteger().value(), 7);
  EXPECT_EQ(finding.find("column")->asInteger().value(), 27);
  EXPECT_EQ(field(finding, "kind"), "Pod");
  EXPECT_EQ(field(finding, "namespace"), "shop");
  EXPECT_EQ(field(finding, "pod"), "web");
  EXPECT_EQ(field(finding, "key"), "memqos.io/memory-min");
  EXPECT_EQ(field(finding, "value"), "64MB");
  EXPECT_EQ(field(finding, "severity"), "error");
  EXPECT_EQ(field(finding, "reason"), "InvalidAnnotation");
  EXPECT_NE(field(finding, "advice"), "");
}

struct Form {
  std::string name, text, kind, pod;
  int pods;
  int line;
};

std::ostream& operator<<(std::ostream& out, const Form& form) {
  return out << form.name;
}

class CheckForms : public Program, public testing::WithParamInterface<Form> {};

TEST_P(CheckForms, EveryManifestFormIsRead) {
  const Form& form = GetParam();
  const Ran ran = run({"check", "--config", noConfig(), "-o", "json", file(form.name, form.text)});
  EXPECT_EQ(ran.status, 1) << ran.out << ran.err;
  const document::Node body = ran.json();
  EXPECT_EQ(body.find("pods")->asInteger().value(), form.pods);
  ASSERT_EQ(itemsOf(body, "findings").size(), 1U) << ran.out;
  const document::Node& finding = itemsOf(body, "findings")[0];
  EXPECT_EQ(field(finding, "kind"), form.kind);
  EXPECT_EQ(field(finding, "pod"), form.pod);
  EXPECT_EQ(field(finding, "line"), std::to_string(form.line));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CheckForms,
    testing::Values(Form{"pod.yaml", badPod(), "Pod", "web", 1, 7},
                    Form{"deployment.yaml", deployment(), "Deployment", "web", 1, 8},
                    Form{"cronjob.yml", cronJob(), "CronJob", "nightly", 1, 10},
                    Form{"multi.yaml",
                         std::string(kGoodPod) + "---\nkind: Service\napiVersion: v1\nmetadata: {name: s}\n---\n" +
                             deployment(),
                         "Deployment", "web", 2, 26},
                    Form{"list.yaml", "apiVersion: v1\nkind: List\nitems:\n- " + indented(badPod(), "  ").substr(2),
                         "Pod", "web", 1, 10},
                    Form{"pod.json",
                         R"({"apiVersion": "v1", "kind": "Pod",
 "metadata": {"name": "web", "annotations": {
  "memqos.io/memory-min": "64MB"}},
 "spec": {"containers": [{"name": "app"}]}})",
                         "Pod", "web", 1, 3}),
    [](const auto& param) {
      return std::string(param.param.name.substr(0, param.param.name.find('.'))) + "_" +
             param.param.name.substr(param.param.name.find('.') + 1);
    });

TEST_F(Check, StandardInput) {
  const Ran ran = run({"check", "--config", noConfig(), "-"}, badPod());
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("-:7:27: error: "));
}

TEST_F(Check, AnUnreadableFileIsAFindingAndTheOthersStillCount) {
  const Ran ran = run({"check", "--config", noConfig(), "-o", "json", folder_ + "/missing.yaml",
                       file("broken.yaml", "kind: Pod\nmetadata: {name: [\n"), file("bad.yaml", badPod())});
  EXPECT_EQ(ran.status, 1);
  const document::Node body = ran.json();
  EXPECT_EQ(field(body, "pods"), "1");
  const auto& findings = itemsOf(body, "findings");
  ASSERT_EQ(findings.size(), 3U) << ran.out;
  EXPECT_EQ(field(findings[0], "reason"), "InvalidManifest");
  EXPECT_EQ(field(findings[0], "file"), folder_ + "/missing.yaml");
  EXPECT_EQ(field(findings[1], "reason"), "InvalidManifest");
  EXPECT_NE(field(findings[1], "line"), "0");
  EXPECT_EQ(field(findings[2], "reason"), "InvalidAnnotation");
}

TEST_F(Check, AnAdjustedValueIsAWarningAndNoFailure) {
  std::string text = kGoodPod;
  text.replace(text.find("64Mi"), 4, "200Mi");  // above the request of 128Mi
  const Ran ran = run({"check", "--config", noConfig(), file("web.yaml", text)});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr(": warning: memqos.io/memory-min \"200Mi\": "));
  EXPECT_THAT(ran.out, HasSubstr("1 pod, 0 errors, 1 warning\n"));
}

TEST_F(Check, FilesWithoutPodsAreFine) {
  const Ran ran = run(
      {"check", "--config", noConfig(), file("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "0 pods, 0 errors, 0 warnings\n");
}

TEST_F(Check, ClassesComeFromTheConfiguration) {
  std::string text = kGoodPod;
  text.replace(text.find("memory-min: 64Mi"), 16, "class: gold");
  const std::string path = file("web.yaml", text);
  EXPECT_EQ(run({"check", "--config", noConfig(), path}).status, 1);
  file("gold/memqos.yaml", "classes:\n  gold: {memoryMin: 64Mi}\n");
  EXPECT_EQ(run({"check", "--config", folder_ + "/gold", path}).status, 0);
}

TEST_F(Check, AWrongConfigurationIsAFinding) {
  file("wrong/memqos.yaml", "throttlingFactor: 7\n");
  const Ran ran = run({"check", "--config", folder_ + "/wrong", "-o", "json", file("web.yaml", kGoodPod)});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(field(itemsOf(ran.json(), "findings").at(0), "reason"), "InvalidConfiguration");
}

TEST_F(Check, AMissingConfigurationFolderThatWasNamedIsAnError) {
  const Ran ran = run({"check", "--config", folder_ + "/nowhere", file("web.yaml", kGoodPod)});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("nowhere"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(Check, TheCgroupKeyIsForBarePodsOnly) {
  std::string pod = kGoodPod;
  pod.replace(pod.find("memory-min: 64Mi"), 16, "cgroup: machine.slice/web");
  EXPECT_EQ(run({"check", "--config", noConfig(), file("web.yaml", pod)}).status, 0);
  std::string workload = deployment();
  workload.replace(workload.find("memory-min: 64MB"), 16, "cgroup: machine.slice/web");
  EXPECT_EQ(run({"check", "--config", noConfig(), file("deployment.yaml", workload)}).status, 1);
}

}  // namespace
}  // namespace memqos::cli
