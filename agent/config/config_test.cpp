#include "config/config.h"

#include <fstream>

namespace memqos::config {
namespace {

using policy::Knob;

std::vector<std::string> lines(const std::vector<policy::Finding>& findings) {
  std::vector<std::string> out;
  for (const auto& f : findings) {
    EXPECT_EQ(f.reason, policy::Reason::invalidConfiguration);
    out.push_back(f.source.file + ":" + std::to_string(f.source.position.line) + ":" +
                  std::to_string(f.source.position.column) + " " + f.key + "=" + f.value + ": " + f.problem + "; " +
                  f.advice);
  }
  return out;
}
std::vector<std::string> problems(const std::string& text) {
  return lines(parse({{"f", text}}).findings);
}

constexpr const char* kFull = R"(defaults:
  class: gold
  memoryHigh: auto
  oomGroup: true
classes:
  gold: {memoryMin: 50%, reclaim: off, swapMax: 0}
  empty:
guardrails:
  maxProtectionShare: {min: 0.123456789, low: 1}
  smallestHigh: 128Mi
  swapMayRaise: true
  freezeAllowed: on
  knobsByNamespace: {shop: [memoryMin, class], none: []}
throttlingFactor: 0.85
qosSlices: observe
lowOnMglru: kernel
reclaim: {floorAtRequest: true, onIsolatedCpus: true}
dialects: {koordinator: true, nri: true}
restoreOnExit: never
cgroupRoot: /kube//pods/
stateDirs: [/run/containerd]
sandboxedRuntimeClasses: [kata-qemu, fire*]
metrics: {listen: ":9000", maxSeries: 5}
)";

TEST(Config, ReadsEveryKey) {
  const Loaded loaded = parse({{"a.yaml", kFull}});
  EXPECT_THAT(lines(loaded.findings), testing::IsEmpty());
  const Config& c = loaded.config;
  EXPECT_EQ(c.policy.defaults.texts.at(Knob::klass).value, "gold");
  EXPECT_EQ(c.policy.defaults.texts.at(Knob::memoryHigh).value, "auto");
  EXPECT_EQ(c.policy.defaults.texts.at(Knob::oomGroup).value, "true");
  EXPECT_EQ(c.policy.defaults.texts.at(Knob::oomGroup).position, (document::Position{4, 13}));
  EXPECT_EQ(c.policy.defaults.texts.at(Knob::oomGroup).file, "a.yaml");
  const auto& gold = c.policy.classes.at("gold").texts;
  EXPECT_EQ(gold.at(Knob::memoryMin).value, "50%");
  EXPECT_EQ(gold.at(Knob::reclaim).value, "off") << "the text as written, not YAML's boolean";
  EXPECT_EQ(gold.at(Knob::swapMax).value, "0");
  EXPECT_TRUE(c.policy.classes.at("empty").texts.empty());
  EXPECT_EQ(c.policy.guardrails.maxShareMin.billionths, 12'345'678'900);
  EXPECT_EQ(c.policy.guardrails.maxShareLow, parsePercent("100%").value());
  EXPECT_EQ(c.policy.guardrails.smallestHigh, mebibytes(128));
  EXPECT_TRUE(c.policy.guardrails.swapMayRaise);
  EXPECT_TRUE(c.policy.guardrails.freezeAllowed);
  ASSERT_TRUE(c.policy.guardrails.knobsByNamespace);
  EXPECT_EQ(c.policy.guardrails.knobsByNamespace->at("shop"), (std::set<Knob>{Knob::memoryMin, Knob::klass}));
  EXPECT_TRUE(c.policy.guardrails.knobsByNamespace->at("none").empty());
  EXPECT_EQ(c.policy.throttlingFactorPermille, 850);
  EXPECT_EQ(c.qosSlices, QosSlices::observe);
  EXPECT_EQ(c.lowOnMglru, LowOnMglru::kernel);
  EXPECT_TRUE(c.reclaimFloorAtRequest && c.reclaimOnIsolatedCpus && c.policy.dialects.koordinator &&
              c.policy.dialects.nri);
  EXPECT_EQ(c.restoreOnExit, RestoreOnExit::never);
  EXPECT_EQ(c.cgroupRoot, "kube/pods");
  EXPECT_THAT(c.stateDirs, testing::ElementsAre("/run/containerd"));
  EXPECT_THAT(c.policy.sandboxedRuntimeClasses, testing::ElementsAre("kata-qemu", "fire*"));
  EXPECT_EQ(c.metricsListen, ":9000");
  EXPECT_EQ(c.metricsMaxSeries, 5U);
}

TEST(Config, EmptyIsTheDefaults) {
  for (const std::string text :
       {"", "# nothing\n", "---\n", "defaults:\nclasses:\nguardrails:\n  knobsByNamespace:\nreclaim: {}\n"}) {
    const Loaded loaded = parse({{"f", text}});
    EXPECT_THAT(lines(loaded.findings), testing::IsEmpty()) << text;
    EXPECT_EQ(loaded.config.policy.guardrails.maxShareMin, parsePercent("50%").value());
    EXPECT_EQ(loaded.config.policy.guardrails.maxShareLow, parsePercent("80%").value());
    EXPECT_EQ(loaded.config.policy.throttlingFactorPermille, 900);
    EXPECT_FALSE(loaded.config.policy.guardrails.knobsByNamespace);
    EXPECT_EQ(loaded.config.restoreOnExit, RestoreOnExit::automatic);
    EXPECT_EQ(loaded.config.metricsMaxSeries, 20000U);
  }
}

TEST(Config, EveryMistakeIsNamed) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"throtlingFactor: 0.9", "f:1:1 throtlingFactor=0.9: there is no such key; did you mean throttlingFactor?"},
      {"guardrails:\n  smallesthigh: 1Gi",
       "f:2:3 guardrails.smallesthigh=1Gi: there is no such key; did you mean smallestHigh?"},
      {"dialects: {x: 1}", "f:1:12 dialects.x=1: there is no such key; use one of koordinator, nri"},
      {"dialects: [nri]", "f:1:11 dialects=: this is a list, not a map; write a map"},
      {"- a", "f:1:1 =: this is a list, not a map; write a map"},
      {"dialects: {nri: 1}",
       "f:1:17 dialects.nri=1: this is a number, not true or false; write true or false, without quotes"},
      {"dialects: {nri: 'true'}",
       "f:1:17 dialects.nri=true: this is a string, not true or false; write true or false, without quotes"},
      {"qosSlices: mange", "f:1:12 qosSlices=mange: 'mange' is not one of the words; did you mean manage?"},
      {"qosSlices: on", "f:1:12 qosSlices=on: this is a boolean, not a word; use one of manage, observe"},
      {"restoreOnExit: x", "f:1:16 restoreOnExit=x: 'x' is not one of the words; use one of auto, always, never"},
      {"lowOnMglru:", "f:1:12 lowOnMglru=: this is null, not a word; use one of hold, kernel"},
      {"throttlingFactor: 0", "f:1:19 throttlingFactor=0: it must be more than 0; write e.g. 0.9"},
      {"throttlingFactor: 1.1",
       "f:1:19 throttlingFactor=1.1: '1.1' is not a share; write a number from 0 to 1 with at most 3 decimals, e.g. "
       "0.8"},
      {"throttlingFactor: 0.9001",
       "f:1:19 throttlingFactor=0.9001: '0.9001' is not a share; write a number from 0 to 1 with at most 3 decimals, "
       "e.g. 0.8"},
      {"throttlingFactor: 90%",
       "f:1:19 throttlingFactor=90%: this is a string, not a number; write a number from 0 to 1 with at most 3 "
       "decimals, e.g. "
       "0.8"},
      {"guardrails: {maxProtectionShare: {low: -0.1}}",
       "f:1:40 guardrails.maxProtectionShare.low=-0.1: '-0.1' is not a share; write a number from 0 to 1 with at most "
       "11 "
       "decimals, e.g. 0.8"},
      {"guardrails: {smallestHigh: 64MB}",
       "f:1:28 guardrails.smallestHigh=64MB: '64MB' is not a quantity; write a quantity such as 64Mi"},
      {"guardrails: {smallestHigh: -1}",
       "f:1:28 guardrails.smallestHigh=-1: '-1' is negative; write a quantity such as 64Mi"},
      {"guardrails: {smallestHigh: {}}",
       "f:1:28 guardrails.smallestHigh=: '' is not a quantity; write a quantity such as 64Mi"},
      {"guardrails: {knobsByNamespace: {a: [memory-min]}}",
       "f:1:37 guardrails.knobsByNamespace.a[0]=memory-min: there is no knob 'memory-min'; did you mean memoryMin?"},
      {"guardrails: {knobsByNamespace: {a: memoryMin}}",
       "f:1:36 guardrails.knobsByNamespace.a=memoryMin: this is a string, not a list; write a list"},
      {"guardrails: {knobsByNamespace: {a: [1]}}",
       "f:1:37 guardrails.knobsByNamespace.a[0]=1: this is a number, not a string; write e.g. \"memoryMin\""},
      {"defaults: {memory-min: 1Gi}", "f:1:12 defaults.memory-min=1Gi: there is no such knob; did you mean memoryMin?"},
      {"defaults: {cpu: 1}",
       "f:1:12 defaults.cpu=1: there is no such knob; knobs are named as in annotations, in camelCase, e.g. memoryMin"},
      {"defaults: {memoryMin: }",
       "f:1:23 defaults.memoryMin=: this is null, not a value; write it as in an annotation"},
      {"defaults: {memoryMin: [1]}",
       "f:1:23 defaults.memoryMin=: this is a list, not a value; write it as in an annotation"},
      {"defaults: {class: gold}", "f:1:19 defaults.class=gold: there is no class 'gold'; define it under classes"},
      {"defaults: {class: glod}\nclasses: {gold: {}}",
       "f:1:19 defaults.class=glod: there is no class 'glod'; did you mean gold?"},
      {"classes: {a: {class: b}}",
       "f:1:15 classes.a.class=b: a class cannot take its knobs from another class; remove it"},
      {"classes: {'a b': {}}",
       "f:1:11 classes.a b=: 'a b' cannot be a class's name; use at most 63 letters, digits, '-', '_' and '.'"},
      {"cgroupRoot: /a/../b",
       "f:1:13 cgroupRoot=/a/../b: '/a/../b' is not a path below the cgroup mount; write the path without '.' and "
       "'..'"},
      {"cgroupRoot: 5", "f:1:13 cgroupRoot=5: this is a number, not a string; write e.g. \"/kube\""},
      {"stateDirs: [run]", "f:1:13 stateDirs[0]=run: 'run' is not an absolute path; write e.g. /run/containerd"},
      {"sandboxedRuntimeClasses: [ka*ta]",
       "f:1:27 sandboxedRuntimeClasses[0]=ka*ta: 'ka*ta' is not a RuntimeClass; write a name, or e.g. kata*"},
      {"stateDirs: /run", "f:1:12 stateDirs=/run: this is a string, not a list; write a list"},
      {"metrics: {listen: 9464}",
       "f:1:19 metrics.listen=9464: this is a number, not a string; write e.g. \"127.0.0.1:9464\""},
      {"metrics: {listen: 'a:70000'}",
       "f:1:19 metrics.listen=a:70000: 'a:70000' is not HOST:PORT; write e.g. 127.0.0.1:9464, [::1]:9464 or :9464"},
      {"metrics: {listen: '::1:9464'}",
       "f:1:19 metrics.listen=::1:9464: '::1:9464' is not HOST:PORT; write e.g. 127.0.0.1:9464, [::1]:9464 or :9464"},
      {"metrics: {listen: localhost}",
       "f:1:19 metrics.listen=localhost: 'localhost' is not HOST:PORT; write e.g. 127.0.0.1:9464, [::1]:9464 or :9464"},
      {"metrics: {maxSeries: 0}",
       "f:1:22 metrics.maxSeries=0: '0' is out of range; write a whole number from 1 to 10000000"},
      {"metrics: {maxSeries: 1e3}",
       "f:1:22 metrics.maxSeries=1e3: this is a number, not a whole number; write a whole number from 1 to 10000000"},
      {"metrics: {maxSeries: 99999999999999999999}",
       "f:1:22 metrics.maxSeries=99999999999999999999: this is a number, not a whole number; write a whole number from "
       "1 to "
       "10000000"},
      {"qosSlices: manage\nqosSlices: observe", "f:2:1 =: duplicate key 'qosSlices'; "},
      {"defaults: &d {}\n", "f:1:11 =: anchors (&name) are not allowed here; remove it; "},
      {"a: 1\n---\nb: 2\n", "f:3:1 =: a second document in this file; write one document, without '---' inside"},
      {"a: [", "f:1:5 =: a ']' or ',' is missing; "},
      {"a: \xff", "f:1:4 =: byte 0xff is not UTF-8; "},
  };
  for (const auto& [text, finding] : rows) EXPECT_THAT(problems(text), testing::ElementsAre(finding)) << text;
}

TEST(Config, BadKnobValuesAreLeftOut) {
  const Loaded loaded = parse({{"f", "classes: {gold: {memoryMin: 64MB, memoryLow: 1Gi, oomGroup: yes}}\n"}});
  ASSERT_EQ(loaded.findings.size(), 2U);
  EXPECT_EQ(loaded.findings[0].key, "classes.gold.memoryMin");
  EXPECT_EQ(loaded.findings[0].value, "64MB");
  EXPECT_EQ(loaded.findings[0].source.position, (document::Position{1, 29}));
  EXPECT_NE(loaded.findings[0].problem, "");
  EXPECT_NE(loaded.findings[0].advice, "");
  EXPECT_EQ(loaded.findings[1].key, "classes.gold.oomGroup");
  EXPECT_EQ(loaded.config.policy.classes.at("gold").texts.size(), 1U);
}

TEST(Config, SharesAreExact) {
  const std::map<std::string, std::int64_t> rows = {{"0", 0},
                                                    {"1", 100'000'000'000},
                                                    {"0.5", 50'000'000'000},
                                                    {"1.0", 100'000'000'000},
                                                    {"0.80000000000000000000", 80'000'000'000},
                                                    {".25", 25'000'000'000},
                                                    {"0.00000000001", 1},
                                                    {"1.", 100'000'000'000}};
  for (const auto& [text, billionths] : rows) {
    const Loaded loaded = parse({{"f", "guardrails: {maxProtectionShare: {min: " + text + "}}"}});
    EXPECT_THAT(lines(loaded.findings), testing::IsEmpty()) << text;
    EXPECT_EQ(loaded.config.policy.guardrails.maxShareMin.billionths, billionths) << text;
  }
  for (const std::string text : {"0.000000000001", "1.00000000001", "2", "5e-1", "1_0", "0x1", ".inf", ".nan", "true",
                                 "99999999999999999999999999"}) {
    EXPECT_EQ(problems("guardrails: {maxProtectionShare: {min: " + text + "}}").size(), 1U) << text;
  }
}

TEST(Config, AKeyInTwoFilesNamesBothPlaces) {
  const Loaded loaded = parse({{"a.yaml", "# first\nqosSlices: observe\nthrottlingFactor: 0.5\n"},
                               {"b.yaml", "lowOnMglru: kernel\nqosSlices: manage\n"}});
  EXPECT_THAT(lines(loaded.findings),
              testing::ElementsAre("b.yaml:2:1 qosSlices=manage: it is also set in a.yaml, line 2; keep one of them"));
  EXPECT_EQ(loaded.config.qosSlices, QosSlices::observe) << "the first counts";
  EXPECT_EQ(loaded.config.lowOnMglru, LowOnMglru::kernel);
}

class ConfigFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "memqos-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  std::filesystem::path dir_;
};

TEST_F(ConfigFolder, ReadsYamlFilesInNameOrder) {
  write("b.yml", "qosSlices: observe\n");
  write("a.yaml", "defaults: {memoryMin: 1Gi}\n");
  write(".hidden.yaml", "x: 1\n");
  write("notes.txt", "x: 1\n");
  std::filesystem::create_directory(dir_ / "folder.yaml");
  const auto loaded = load(dir_, false);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_THAT(lines(loaded->findings), testing::IsEmpty());
  EXPECT_EQ(loaded->config.qosSlices, QosSlices::observe);
  EXPECT_EQ(loaded->config.policy.defaults.texts.at(Knob::memoryMin).file, (dir_ / "a.yaml").string());
}

TEST_F(ConfigFolder, AMissingFolder) {
  const std::string missing = dir_ / "missing";
  ASSERT_TRUE(load(missing, true));
  EXPECT_TRUE(load(missing, true)->findings.empty());
  ASSERT_FALSE(load(missing, false));
  EXPECT_EQ(load(missing, false).error().code, Code::gone);
  EXPECT_EQ(load(missing, false).error().path, missing);
  write("file", "");
  EXPECT_FALSE(load(dir_ / "file", true)) << "not a folder is never right";
}

TEST_F(ConfigFolder, AnUnreadableFileIsAFinding) {
  std::filesystem::create_symlink("nowhere", dir_ / "x.yaml");
  write("y.yaml", "qosSlices: observe\n");
  const auto loaded = load(dir_, false);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(lines(loaded->findings),
              testing::ElementsAre((dir_ / "x.yaml").string() +
                                   ":0:0 =: cannot open: No such file or directory; make it readable, or remove it"));
  EXPECT_EQ(loaded->config.qosSlices, QosSlices::observe);
}

}  // namespace
}  // namespace memqos::config
