#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/harness.h"
#include "policy/knobs.h"
#include "report/values.h"

namespace memqos::cli {
namespace {

using report::field;
using report::itemsOf;
using testing::HasSubstr;
using testing::Not;
using Explain = Program;

constexpr const char* kPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    memqos.io/memory-min: 64Mi
    memory-high.memqos.io/app: 50%
spec:
  containers:
  - name: app
    resources: {requests: {memory: 128Mi}, limits: {memory: 512Mi}}
  - name: side
)";

const document::Node& knob(const document::Node& body, std::size_t container, policy::Knob which) {
  return itemsOf(itemsOf(itemsOf(body, "pods").at(0), "containers").at(container), "knobs")
      .at(static_cast<std::size_t>(which));
}

TEST_F(Explain, AFileShowsEveryKnobOfEveryContainer) {
  const Ran ran = run({"explain", "--config", noConfig(), "-o", "json", file("web.yaml", kPod)});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const document::Node body = ran.json();
  const document::Node& pod = itemsOf(body, "pods").at(0);
  EXPECT_EQ(field(pod, "namespace"), "default");
  EXPECT_TRUE(pod.find("uid")->isNull());
  ASSERT_EQ(itemsOf(pod, "containers").size(), 2U);
  const document::Node& min = knob(body, 0, policy::Knob::memoryMin);
  EXPECT_EQ(field(min, "asked"), "64Mi");
  EXPECT_EQ(min.find("wanted")->asInteger().value(), 64 << 20);
  EXPECT_EQ(field(min, "origin"), "annotation memqos.io/memory-min");
  EXPECT_EQ(field(min, "file"), "memory.min");
  EXPECT_EQ(min.find("current"), nullptr);
  EXPECT_EQ(min.find("takesEffect"), nullptr);
  const document::Node& high = knob(body, 0, policy::Knob::memoryHigh);
  EXPECT_EQ(high.find("wanted")->asInteger().value(), 256 << 20);
  EXPECT_EQ(field(high, "origin"), "annotation memory-high.memqos.io/app");
  EXPECT_TRUE(knob(body, 1, policy::Knob::memoryHigh).find("asked")->isNull());
}

TEST_F(Explain, TheTableIsForPeople) {
  const std::string path = file("web.yaml", kPod);
  const Ran ran = run({"explain", "--config", noConfig(), path});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("pod default/web\n"));
  EXPECT_THAT(ran.out, HasSubstr("memory-min"));
  EXPECT_THAT(ran.out, HasSubstr("64Mi"));
  EXPECT_THAT(ran.out, Not(HasSubstr("dirty-limit")));
  EXPECT_THAT(run({"explain", "--all", "--config", noConfig(), path}).out, HasSubstr("dirty-limit"));
}

TEST_F(Explain, AllocatableStandsInForALimit) {
  const char* text =
      R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": {"memqos.io/memory-high": "50%"}},
    "spec": {"containers": [{"name": "app", "resources": {"requests": {"memory": "128Mi"}}}]}})";
  const Ran ran = run({"explain", "--config", noConfig(), "--allocatable", "1Gi", "-o", "json", "-"}, text);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(knob(ran.json(), 0, policy::Knob::memoryHigh).find("wanted")->asInteger().value(), 512 << 20);
  for (const char* wrong : {"lots", "0", "-1Gi"}) {
    const Ran bad = run({"explain", "--config", noConfig(), "--allocatable", wrong, "-"}, text);
    EXPECT_EQ(bad.status, 1) << wrong;
    EXPECT_THAT(bad.err, HasSubstr("--allocatable")) << wrong;
  }
}

TEST_F(Explain, ErrorsOfAFileAreToldAndTheRestIsShown) {
  std::string text = kPod;
  text.replace(text.find("64Mi"), 4, "64MB");
  const std::string path = file("web.yaml", text);
  const Ran ran = run({"explain", "--config", noConfig(), path});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr(path + ":6:27: error: memqos.io/memory-min"));
  EXPECT_THAT(ran.out, HasSubstr("memory-high"));
  const Ran json = run({"explain", "--config", noConfig(), "-o", "json", path});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(field(itemsOf(itemsOf(json.json(), "pods").at(0), "findings").at(0), "value"), "64MB");
}

TEST_F(Explain, UnreadableFilesAndFilesWithoutPods) {
  const Ran missing = run({"explain", "--config", noConfig(), folder_ + "/missing.yaml"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("missing.yaml"));
  const Ran none = run({"explain", "--config", noConfig(), file("s.yaml", "kind: Service\napiVersion: v1\n")});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no pod"));
}

TEST_F(Explain, TemplatesAreExplainedUnderTheWorkloadsName) {
  const Ran ran = run({"explain", "--config", noConfig(), "-"}, R"(apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  template:
    metadata: {annotations: {memqos.io/oom-group: "true"}}
    spec: {containers: [{name: app}]}
)");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("pod shop/db\n"));
  EXPECT_THAT(ran.out, HasSubstr("memory.oom.group"));
}

TEST_F(Explain, WhatIsNeitherPodNorFileIsRefused) {
  for (const char* target : {"web", "a/b/c", "/web", "web/", ""}) {
    const Ran ran = run({"explain", target});
    EXPECT_EQ(ran.status, 1) << target;
    EXPECT_EQ(ran.out, "") << target;
  }
}

}  // namespace
}  // namespace memqos::cli
