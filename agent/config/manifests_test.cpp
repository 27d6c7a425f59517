#include "config/manifests.h"

#include <sys/stat.h>

#include <fstream>

namespace memqos::config {
namespace {

namespace fs = std::filesystem;

std::string pod(const std::string& name, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + more + "}\nspec: {containers: [{name: c}]}\n";
}

// "KIND NAMESPACE/NAME @LINE"
std::vector<std::string> pods(const Manifests& manifests) {
  std::vector<std::string> out;
  for (const auto& p : manifests.pods) {
    out.push_back(p.source.kind + " " + p.nameSpace + "/" + p.name + " @" + std::to_string(p.source.position.line));
  }
  return out;
}
// "REASON FILE:LINE:COLUMN KEY=VALUE: PROBLEM; ADVICE"
std::vector<std::string> findings(const Manifests& manifests) {
  std::vector<std::string> out;
  for (const auto& f : manifests.findings) {
    out.push_back(std::string(policy::name(f.reason)) + " " + f.source.file + ":" +
                  std::to_string(f.source.position.line) + ":" + std::to_string(f.source.position.column) + " " +
                  f.key + "=" + f.value + ": " + f.problem + "; " + f.advice);
  }
  return out;
}
Manifests include(const std::string& text, const std::string& file = "f.yaml") {
  return parseManifests(text, file, Templates::include);
}

constexpr const char* kDeployment =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
    "spec: {template: {spec: {containers: [{name: c}]}}}\n";

TEST(Manifests, ManyDocuments) {
  const Manifests read = include(pod("a") + "---\n" + kDeployment + "---\n---\nkind: Service\nmetadata: 5\n---\n" +
                                 pod("b", ", namespace: x"));
  EXPECT_THAT(pods(read), testing::ElementsAre("Pod default/a @1", "Deployment default/web @6", "Pod x/b @15"));
  EXPECT_THAT(findings(read), testing::IsEmpty());
}

TEST(Manifests, TemplatesOnlyWhereAsked) {
  EXPECT_TRUE(parseManifests(kDeployment, "f.yaml", Templates::ignore).pods.empty());
  EXPECT_TRUE(parseManifests(kDeployment, "f.yaml", Templates::ignore).findings.empty());
  EXPECT_EQ(include(kDeployment).pods.size(), 1U);
}

TEST(Manifests, Lists) {
  const std::string item = "metadata: {name: NAME}, spec: {containers: [{name: c}]}";
  const auto named = [&](const std::string& name) { return std::string(item).replace(item.find("NAME"), 4, name); };
  EXPECT_THAT(pods(include("kind: List\nitems:\n- {kind: Pod, " + named("a") +
                           "}\n- {kind: Secret}\n- kind: List\n  items: [{kind: Pod, " + named("b") + "}]\n")),
              testing::ElementsAre("Pod default/a @3", "Pod default/b @6"));
  EXPECT_THAT(pods(include("kind: PodList\nitems: [{" + named("a") + "}]\n")),
              testing::ElementsAre("Pod default/a @2"));
  EXPECT_THAT(pods(include("kind: JobList\napiVersion: batch/v1\nitems: [{metadata: {name: j}, spec: {template: {" +
                           item.substr(item.find("spec")) + "}}}]\n")),
              testing::ElementsAre("Job default/j @3"));
  EXPECT_THAT(
      findings(include("kind: List\nitems: [{" + named("a") + "}]\n")),
      testing::ElementsAre(
          "InvalidManifest f.yaml:2:9 kind=: it is missing, so this is no Kubernetes object; write e.g. kind: Pod"));
  EXPECT_THAT(findings(include("kind: List\nitems: 5\n")),
              testing::ElementsAre(
                  "InvalidManifest f.yaml:2:8 items=5: this is a number, not a list; write a list of objects"));
  EXPECT_TRUE(findings(include("kind: PodList\nitems:\n")).empty());
}

TEST(Manifests, WhatIsNoManifest) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"replicas: 3\n",
       "InvalidManifest f.yaml:1:1 kind=: it is missing, so this is no Kubernetes object; write e.g. kind: Pod"},
      {"- 1\n",
       "InvalidManifest f.yaml:1:1 kind=: this is a list, not a Kubernetes object; write apiVersion, kind, metadata "
       "and spec"},
      {"hello\n",
       "InvalidManifest f.yaml:1:1 kind=hello: this is a string, not a Kubernetes object; write apiVersion, kind, "
       "metadata and spec"},
      {"kind: 5\n", "InvalidManifest f.yaml:1:7 kind=5: this is not a string; write e.g. kind: Pod"},
      {"kind: pod\n", "InvalidManifest f.yaml:1:7 kind=pod: there is no kind 'pod'; did you mean Pod?"},
      {"kind: Statefulset\n",
       "InvalidManifest f.yaml:1:7 kind=Statefulset: there is no kind 'Statefulset'; did you mean StatefulSet?"},
      {"kind: Pod\n  x: 1\n",
       "InvalidManifest f.yaml:2:4 =: a ':' that cannot be here; quote the text or check the indentation; "},
      {"\xff", "InvalidManifest f.yaml:1:1 =: byte 0xff is not UTF-8; "},
  };
  for (const auto& [text, finding] : rows) {
    const Manifests read = include(text);
    EXPECT_THAT(findings(read), testing::ElementsAre(finding)) << text;
    EXPECT_TRUE(read.pods.empty());
  }
  EXPECT_TRUE(include("").findings.empty());
  EXPECT_TRUE(include("# nothing\n").findings.empty());
}

TEST(Manifests, OtherApiGroupsAreSkipped) {
  const Manifests read = include(
      "apiVersion: apps.kruise.io/v1\nkind: StatefulSet\nspec: 5\n---\napiVersion: batch.volcano.sh/v1\nkind: Job\n");
  EXPECT_TRUE(read.pods.empty());
  EXPECT_TRUE(read.findings.empty());
}

TEST(Manifests, ABrokenDocumentLeavesTheRest) {
  const Manifests read = include(pod("a") + "---\nkind: [\n---\n" + pod("b"));
  EXPECT_THAT(pods(read), testing::ElementsAre("Pod default/a @1", "Pod default/b @8"));
  ASSERT_EQ(read.findings.size(), 1U);
  EXPECT_EQ(read.findings[0].source.position.line, 7U) << findings(read)[0];
}

TEST(Manifests, Json) {
  const std::string json = R"({"kind": "Pod", "metadata": {"name": "a", "annotations": {"memqos.io/memory-min": 5}},
 "spec": {"containers": [{"name": "c"}]}})";
  for (const std::string file : {"f.json", "-", "f.yaml"}) {
    const Manifests read = include(json, file);
    EXPECT_THAT(pods(read), testing::ElementsAre("Pod default/a @1")) << file;
    EXPECT_THAT(findings(read),
                testing::ElementsAre("InvalidAnnotation " + file +
                                     ":1:83 memqos.io/memory-min=5: this is a number, not a string; quote it: \"5\""));
  }
  EXPECT_THAT(
      findings(include("{kind: Pod}", "f.json")),
      testing::ElementsAre("InvalidManifest f.json:1:2 =: not valid JSON: invalid literal; expected string literal; "));
  EXPECT_EQ(include("{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}").pods.size(), 1U)
      << "YAML in braces";
  EXPECT_THAT(pods(include(json + "\n---\n" + json)).size(), 2U);
}

TEST(Manifests, FindingsOfPodsComeAlong) {
  const Manifests read = include("kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: 5}]}\n");
  EXPECT_THAT(findings(read),
              testing::ElementsAre("InvalidManifest f.yaml:3:28 spec.containers[0].name=5: this is a number, not a "
                                   "string; quote it: \"5\""));
  EXPECT_EQ(read.pods.size(), 1U);
}

class ManifestFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "memqos-pods-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  fs::path dir_;
};

TEST_F(ManifestFolder, ReadsInNameOrderAndKeepsTheFirst) {
  const std::string b = write("b.yaml", pod("one") + "---\n" + pod("two"));
  const std::string a =
      write("a.json", R"({"kind":"Pod","metadata":{"name":"one"},"spec":{"containers":[{"name":"c"}]}})");
  write("c.yml", pod("one", ", namespace: other"));
  write(".d.yaml", pod("hidden"));
  write("e.txt", pod("text"));
  write("f.yaml", kDeployment);
  const auto read = readFolder(dir_);
  ASSERT_TRUE(read);
  EXPECT_THAT(pods(*read), testing::ElementsAre("Pod default/one @1", "Pod default/two @6", "Pod other/one @1"));
  EXPECT_EQ(read->pods[0].source.file, a);
  EXPECT_THAT(findings(*read),
              testing::ElementsAre("DuplicatePod " + b + ":1:1 metadata.name=one: already used in " + a +
                                   ", line 1; this manifest is ignored; remove one of them, or rename it"));
}

TEST_F(ManifestFolder, TheSameUidIsTheSamePod) {
  const std::string a = write("a.yaml", pod("one", ", uid: u-1") + "---\n" + pod("two", ", uid: u-1"));
  const auto read = readFolder(dir_);
  ASSERT_TRUE(read);
  EXPECT_THAT(pods(*read), testing::ElementsAre("Pod default/one @1"));
  EXPECT_THAT(findings(*read),
              testing::ElementsAre("DuplicatePod " + a + ":6:1 metadata.uid=u-1: already used in " + a +
                                   ", line 1; this manifest is ignored; remove the uid, or one of them"));
}

TEST_F(ManifestFolder, WrongFilesLeaveTheOthers) {
  write("a.yaml", "kind: [\n");
  const std::string big = write("b.yaml", "");
  fs::resize_file(big, 16 * 1024 * 1024 + 1);
  fs::create_symlink("nowhere", dir_ / "c.yaml");
  ASSERT_EQ(::mkfifo((dir_ / "d.yaml").c_str(), 0600), 0);
  fs::create_directory(dir_ / "e.yaml");
  write("z.yaml", pod("good"));
  const auto read = readFolder(dir_);
  ASSERT_TRUE(read);
  EXPECT_THAT(pods(*read), testing::ElementsAre("Pod default/good @1"));
  const auto found = findings(*read);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0], testing::StartsWith("InvalidManifest " + (dir_ / "a.yaml").string() + ":2:1"));
  EXPECT_THAT(found[1], testing::AllOf(testing::StartsWith("InvalidManifest " + big),
                                       testing::HasSubstr("larger than 16777216 bytes")));
  EXPECT_THAT(found[2], testing::HasSubstr("c.yaml:0:0 =: cannot open: No such file or directory"));
}

TEST_F(ManifestFolder, ConfigMapMount) {
  fs::create_directory(dir_ / "..2026");
  std::ofstream(dir_ / "..2026" / "pod.yaml") << pod("mounted");
  fs::create_directory_symlink("..2026", dir_ / "..data");
  fs::create_symlink("..data/pod.yaml", dir_ / "pod.yaml");
  const auto read = readFolder(dir_);
  ASSERT_TRUE(read);
  EXPECT_THAT(pods(*read), testing::ElementsAre("Pod default/mounted @1"));
}

TEST_F(ManifestFolder, OneFile) {
  const std::string a = write("a.yaml", pod("x") + "---\n" + pod("x"));
  const auto read = readManifests(a, Templates::include);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pods.size(), 1U);
  EXPECT_EQ(read->findings.size(), 1U);
  EXPECT_EQ(readManifests(dir_ / "none.yaml", Templates::include).error().code, Code::gone);
  EXPECT_FALSE(readManifests(dir_, Templates::include));
  EXPECT_EQ(readFolder(dir_ / "none").error().code, Code::gone);
}

// A Deployment and a StatefulSet may share a name.
TEST(Manifests, DuplicatesAreOfOneKind) {
  Manifests read = include(std::string(kDeployment) + "---\n" + pod("web"));
  dropDuplicates(read);
  EXPECT_EQ(read.pods.size(), 2U);
  EXPECT_TRUE(read.findings.empty());
}

}  // namespace
}  // namespace memqos::config
