#include "policy/pod_decoder.h"

#include <regex>

namespace memqos::policy {
namespace {

Decoded decode(const std::string& yaml, const std::string& kind = "Pod") {
  const auto roots = document::parseYaml(yaml);
  EXPECT_TRUE(roots && roots->size() == 1) << yaml;
  if (!roots || roots->empty()) return {};
  const Source source{"f.yaml", {}, kind};
  return isWorkload(kind) ? decodeTemplate(roots->front(), source) : decodePod(roots->front(), source);
}

// "LINE:COLUMN KEY=VALUE: PROBLEM; ADVICE"
std::vector<std::string> lines(const Decoded& decoded) {
  std::vector<std::string> out;
  for (const Finding& f : decoded.findings) {
    out.push_back(std::to_string(f.source.position.line) + ":" + std::to_string(f.source.position.column) + " " +
                  f.key + "=" + f.value + ": " + f.problem + "; " + f.advice);
  }
  return out;
}

constexpr const char* kFull = R"(apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  uid: 3f0a9d1e-0000-4000-8000-000000000001
  labels: {app: web}
  annotations:
    memqos.io/memory-min: "50%"
    other.io/x: ""
spec:
  runtimeClassName: kata
  resources:
    requests: {memory: 1Gi}
    limits: {memory: 2Gi}
  initContainers:
  - name: setup
    resources: {limits: {memory: 16Mi}}
  - name: proxy
    restartPolicy: Always
  containers:
  - name: app
    resources:
      requests: {cpu: 500m, memory: 64Mi}
      limits: {memory: 134217728}
  ephemeralContainers:
  - name: debug
)";

TEST(PodDecoder, ReadsEverything) {
  const Decoded decoded = decode(kFull);
  EXPECT_THAT(lines(decoded), testing::IsEmpty());
  ASSERT_TRUE(decoded.pod);
  const Pod& pod = *decoded.pod;
  EXPECT_EQ(pod.nameSpace, "shop");
  EXPECT_EQ(pod.name, "web-0");
  EXPECT_EQ(pod.uid, "3f0a9d1e-0000-4000-8000-000000000001");
  EXPECT_EQ(pod.labels.at("app"), "web");
  ASSERT_EQ(pod.annotations.size(), 2U);
  EXPECT_EQ(pod.annotations[0].key, "memqos.io/memory-min");
  EXPECT_EQ(pod.annotations[0].value, "50%");
  EXPECT_EQ(pod.annotations[0].position, (document::Position{9, 27}));
  EXPECT_EQ(pod.runtimeClass, "kata");
  EXPECT_EQ(pod.podRequest, kGiB);
  EXPECT_EQ(pod.podLimit, mebibytes(2048));
  EXPECT_EQ(pod.statusQos, QosClass::burstable);
  EXPECT_EQ(pod.source.file, "f.yaml");
  EXPECT_EQ(pod.source.position, (document::Position{1, 1}));
  ASSERT_EQ(pod.containers.size(), 4U);
  EXPECT_EQ(pod.containers[0].name, "app");
  EXPECT_EQ(pod.containers[0].memoryRequest, mebibytes(64));
  EXPECT_EQ(pod.containers[0].memoryLimit, mebibytes(128));
  EXPECT_EQ(pod.containers[1].kind, ContainerKind::init);
  EXPECT_EQ(pod.containers[1].memoryRequest, mebibytes(16)) << "a request defaults to the limit";
  EXPECT_EQ(pod.containers[2].kind, ContainerKind::sidecar);
  EXPECT_EQ(pod.containers[3].kind, ContainerKind::ephemeral);
}

// kubernetes#138760, #138857: while a container was killed or restarted its request dropped out of the pod's sum.
TEST(PodDecoder, TheSpecCountsWhateverStateAContainerIsIn) {
  const std::string spec = R"(metadata: {name: web, uid: 3f0a9d1e-0000-4000-8000-000000000001}
spec:
  containers:
  - name: app
    resources: {requests: {memory: 128Mi}, limits: {memory: 256Mi}}
)";
  for (const std::string state :
       {R"({terminated: {reason: OOMKilled, exitCode: 137}})", R"({waiting: {reason: CrashLoopBackOff}})", "{}"}) {
    for (const std::string phase : {"Running", "Pending", "Failed", "Succeeded"}) {
      const Decoded decoded =
          decode(spec + "status: {phase: " + phase + ", containerStatuses: [{name: app, state: " + state + "}]}\n");
      ASSERT_TRUE(decoded.pod) << state;
      EXPECT_THAT(lines(decoded), testing::IsEmpty());
      ASSERT_EQ(decoded.pod->containers.size(), 1U);
      EXPECT_EQ(decoded.pod->containers[0].memoryRequest, mebibytes(128)) << state << phase;
      EXPECT_EQ(decoded.pod->containers[0].memoryLimit, mebibytes(256)) << state << phase;
    }
  }
}

TEST(PodDecoder, DefaultsAndNulls) {
  const Decoded decoded = decode(
      "metadata: {name: a, namespace: , labels: , annotations: {memqos.io/class: }}\n"
      "spec: {containers: [{name: c, resources: {requests: , limits: {memory: , cpu: 2}}}], initContainers: }\n");
  EXPECT_THAT(lines(decoded), testing::IsEmpty());
  ASSERT_TRUE(decoded.pod);
  EXPECT_EQ(decoded.pod->nameSpace, "default");
  EXPECT_EQ(decoded.pod->uid, deriveUid("Pod", "default", "a"));
  EXPECT_EQ(decoded.pod->annotations.at(0).value, "") << "as the API server reads null in a map of strings";
  EXPECT_FALSE(decoded.pod->containers.at(0).memoryLimit);
  EXPECT_EQ(decoded.pod->statusQos, QosClass::burstable);
}

TEST(PodDecoder, QosClassIsTheStatusElseComputed) {
  const std::string spec =
      "metadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {memory: 1Gi, cpu: 1.5}, requests: {cpu: "
      "1500m}}}]}\n";
  EXPECT_EQ(decode(spec).pod->statusQos, QosClass::guaranteed);
  EXPECT_EQ(decode(spec + "status: {qosClass: BestEffort}\n").pod->statusQos, QosClass::bestEffort);
  EXPECT_EQ(decode(spec + "status: {qosClass: Silver}\n").pod->statusQos, QosClass::guaranteed);
}

TEST(PodDecoder, NumbersAreReadAsKubernetesDoes) {
  const std::map<std::string, std::int64_t> rows = {
      {"64", 64}, {"010", 8},      {"1e3", 1000},         {"1_000", 1000},       {"0x10", 16},
      {"1.5", 2}, {"\"010\"", 10}, {"1.5Gi", 1610612736}, {"'129e6'", 129000000}};
  for (const auto& [text, bytes] : rows) {
    const Decoded decoded =
        decode("metadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {memory: " + text + "}}}]}\n");
    ASSERT_TRUE(decoded.pod) << text;
    EXPECT_EQ(decoded.pod->containers.at(0).memoryLimit, Bytes{bytes}) << text;
  }
}

struct Bad {
  std::string yaml;
  std::string finding;
  bool stillAPod = true;
};

TEST(PodDecoder, WrongTypesAreFindingsAndTheRestIsRead) {
  const std::string meta = "metadata: {name: a}\n";
  const std::string spec = "spec: {containers: [{name: c}]}\n";
  const std::vector<Bad> rows = {
      {"metadata: {name: a, namespace: 5}\n" + spec,
       "1:32 metadata.namespace=5: this is a number, not a string; quote it: \"5\"", false},
      {"metadata: {name: a, namespace: A}\n" + spec,
       "1:32 metadata.namespace=A: 'A' is not a namespace's name; use lower-case letters, digits and '-', beginning "
       "and ending "
       "with a letter or digit",
       false},
      {"metadata: {name: true}\n" + spec,
       "1:18 metadata.name=true: this is a boolean, not a string; quote it: \"true\"", false},
      {"metadata: {}\n" + spec, "1:11 metadata.name=: it is missing; ", false},
      {spec, "1:1 metadata.name=: it is missing; ", false},
      {"metadata: x\n" + spec, "1:11 metadata=x: this is a string, not a map; write a map", false},
      {"metadata: {name: \"a\\nb\"}\n" + spec,
       "1:18 metadata.name=a\nb: 'a\\nb' is not a pod's name; use lower-case letters, digits and '-', beginning and "
       "ending "
       "with a letter or digit",
       false},
      {"metadata: {name: a, uid: \"../x\"}\n" + spec,
       "1:26 metadata.uid=../x: '../x' is not a uid; remove it; one is derived from namespace and name"},
      {"metadata: {name: a, labels: [x]}\n" + spec, "1:29 metadata.labels=: this is a list, not a map; write a map"},
      {"metadata: {name: a, labels: {x: 1}}\n" + spec,
       "1:33 metadata.labels['x']=1: this is a number, not a string; quote it: \"1\""},
      {"metadata: {name: a, annotations: 7}\n" + spec,
       "1:34 metadata.annotations=7: this is a number, not a map; write a map"},
      {meta, "1:1 spec=: it is missing; ", false},
      {meta + "spec: []\n", "2:7 spec=: this is a list, not a map; write a map", false},
      {meta + "spec: {}\n", "2:7 spec.containers=: it is missing; "},
      {meta + "spec: {containers: []}\n", "2:7 spec.containers=: it is missing; "},
      {meta + "spec: {containers: {name: c}}\n", "2:20 spec.containers=: this is a map, not a list; write a list"},
      {meta + "spec: {containers: [x]}\n", "2:21 spec.containers[0]=x: this is a string, not a map; write a map"},
      {meta + "spec: {containers: [{image: x}]}\n", "2:21 spec.containers[0].name=: it is missing; "},
      {meta + "spec: {containers: [{name: 1}]}\n",
       "2:28 spec.containers[0].name=1: this is a number, not a string; quote it: \"1\""},
      {meta + "spec: {containers: [{name: a/b}]}\n",
       "2:28 spec.containers[0].name=a/b: 'a/b' is not a container's name; use lower-case letters, digits and '-', "
       "beginning "
       "and ending with a letter or digit"},
      {meta + "spec: {containers: [{name: c}], initContainers: [{name: c}]}\n",
       "2:57 spec.initContainers[0].name=c: a second container named c; names of a pod's containers differ"},
      {meta + "spec: {containers: [{name: c, resources: {limits: {memory: 64MB}}}]}\n",
       "2:60 spec.containers[0].resources.limits.memory=64MB: '64MB' is not a quantity; write e.g. 64Mi, 1.5Gi, 500M "
       "or "
       "128974848"},
      {meta + "spec: {containers: [{name: c, resources: {limits: {memory: on}}}]}\n",
       "2:60 spec.containers[0].resources.limits.memory=on: this is a boolean, not a quantity; write e.g. 64Mi, 1.5Gi, "
       "500M or "
       "128974848"},
      {meta + "spec: {containers: [{name: c, resources: {requests: {cpu: -1}}}]}\n",
       "2:59 spec.containers[0].resources.requests.cpu=-1: '-1' is negative; write e.g. 500m or 2"},
      {meta + "spec: {containers: [{name: c, resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}}]}\n",
       "2:62 spec.containers[0].resources.requests.memory=2Gi: the request is more than the limit 1Gi; lower the "
       "request or "
       "raise the limit"},
      {meta + "spec: {containers: [{name: c, resources: 5}]}\n",
       "2:42 spec.containers[0].resources=5: this is a number, not a map; write a map"},
      {meta + "spec: {resources: {limits: {memory: x}}, containers: [{name: c}]}\n",
       "2:37 spec.resources.limits.memory=x: 'x' is not a quantity; write e.g. 64Mi, 1.5Gi, 500M or 128974848"},
      {meta + "spec: {runtimeClassName: {}, containers: [{name: c}]}\n",
       "2:26 spec.runtimeClassName=: this is a map, not a string; write a string"},
  };
  for (const Bad& row : rows) {
    const Decoded decoded = decode(row.yaml);
    EXPECT_THAT(lines(decoded), testing::ElementsAre(row.finding)) << row.yaml;
    EXPECT_EQ(decoded.pod.has_value(), row.stillAPod) << row.yaml;
    for (const Finding& finding : decoded.findings) EXPECT_EQ(finding.reason, Reason::invalidManifest);
  }
}

TEST(PodDecoder, AnnotationsMustBeStrings) {
  const Decoded decoded = decode(
      "metadata:\n  name: a\n  annotations:\n    memqos.io/memory-min: 64\n    oom-group.memqos.io/c: true\n"
      "    memqos.io/memory-low: [1]\n    other.io/n: 010\n    memqos.io/memory-high: 64Mi\nspec: {containers: [{name: "
      "c}]}\n");
  EXPECT_THAT(lines(decoded),
              testing::ElementsAre(
                  "4:27 memqos.io/memory-min=64: this is a number, not a string; quote it: \"64\"",
                  "5:28 oom-group.memqos.io/c=true: this is a boolean, not a string; quote it: \"true\"",
                  "6:27 memqos.io/memory-low=: this is a list, not a string; write a string",
                  "7:17 metadata.annotations['other.io/n']=010: this is a number, not a string; quote it: \"010\""));
  EXPECT_EQ(decoded.findings[0].reason, Reason::invalidAnnotation);
  EXPECT_EQ(decoded.findings[2].reason, Reason::invalidAnnotation);
  EXPECT_EQ(decoded.findings[3].reason, Reason::invalidManifest);
  EXPECT_EQ(decoded.findings[0].pod, "a");
  EXPECT_EQ(decoded.findings[0].uid, decoded.pod->uid);
  ASSERT_EQ(decoded.pod->annotations.size(), 1U) << "the others are as if absent";
  EXPECT_EQ(decoded.pod->annotations[0].key, "memqos.io/memory-high");
}

TEST(PodDecoder, FindingsNameTheContainer) {
  const Decoded decoded = decode(
      "metadata: {name: a, namespace: ns}\nspec: {containers: [{name: c, resources: {limits: {memory: x}}}, 5]}\n");
  ASSERT_EQ(decoded.findings.size(), 2U);
  EXPECT_EQ(decoded.findings[0].container, "c");
  EXPECT_EQ(decoded.findings[0].nameSpace, "ns");
  EXPECT_EQ(decoded.findings[1].container, "");
}

TEST(PodDecoder, EveryMistakeIsNamedAtOnce) {
  EXPECT_THAT(
      lines(decode("metadata: {namespace: 1}\nspec: {containers: [{name: 2}]}\n")),
      testing::ElementsAre(testing::StartsWith("1:23 metadata.namespace=1"), testing::StartsWith("1:11 metadata.name="),
                           testing::StartsWith("2:28 spec.containers[0].name=2")));
}

TEST(PodDecoder, Templates) {
  const std::string pod =
      "template: {metadata: {name: ignored, namespace: ignored, uid: ignored, annotations: {memqos.io/class: gold}}, "
      "spec: {containers: [{name: c}]}}";
  const std::string meta = "metadata: {name: web, namespace: ns, uid: u, annotations: {memqos.io/class: owner}}\n";
  for (const std::string kind :
       {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}) {
    ASSERT_TRUE(isWorkload(kind)) << kind;
    const Decoded decoded =
        decode(meta + (kind == "CronJob" ? "spec: {jobTemplate: {spec: {" + pod + "}}}" : "spec: {" + pod + "}"), kind);
    EXPECT_THAT(lines(decoded), testing::IsEmpty()) << kind;
    ASSERT_TRUE(decoded.pod) << kind;
    EXPECT_EQ(decoded.pod->name, "web");
    EXPECT_EQ(decoded.pod->nameSpace, "ns");
    EXPECT_EQ(decoded.pod->uid, deriveUid(kind, "ns", "web"));
    EXPECT_EQ(decoded.pod->source.kind, kind);
    EXPECT_EQ(decoded.pod->annotations.at(0).value, "gold");
    EXPECT_EQ(decoded.pod->containers.size(), 1U);
  }
  EXPECT_FALSE(isWorkload("Pod"));
  EXPECT_FALSE(isWorkload("deployment"));
}

TEST(PodDecoder, TemplatesThatAreNone) {
  const std::vector<std::tuple<std::string, std::string, std::string>> rows = {
      {"Deployment", "metadata: {name: a}\n", "1:1 spec.template=: it is missing; "},
      {"CronJob", "spec: {template: {}}\n", "1:1 spec.jobTemplate.spec.template=: it is missing; "},
      {"Job", "spec: 5\n", "1:7 spec=5: this is a number, not a map; write a map"},
      {"Job", "metadata: {generateName: run-}\nspec: {template: {spec: {containers: 1}}}\n",
       "2:38 spec.template.spec.containers=1: this is a number, not a list; write a list"}};
  for (const auto& [kind, yaml, finding] : rows) {
    EXPECT_THAT(lines(decode(yaml, kind)), testing::ElementsAre(finding)) << yaml;
  }
}

TEST(PodDecoder, DerivedUidsAreStable) {
  // The values must never change: journals and cgroups outlive the agent.
  EXPECT_EQ(deriveUid("Pod", "default", "web"), "c8978ae8-c240-869b-bd0b-d876899cbfdc");
  EXPECT_NE(deriveUid("Pod", "default", "web"), deriveUid("Pod", "default", "web2"));
  EXPECT_NE(deriveUid("Pod", "default", "web"), deriveUid("Job", "default", "web"));
  EXPECT_NE(deriveUid("Pod", "a", "b-c"), deriveUid("Pod", "a-b", "c"));
  EXPECT_TRUE(std::regex_match(deriveUid("", "", ""),
                               std::regex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")));
}

}  // namespace
}  // namespace memqos::policy
