// Manifests come from anybody: whatever they hold, a terminal only shows it, and the output stays of a readable size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/harness.h"
#include "report/values.h"

namespace memqos::cli {
namespace {

using testing::HasSubstr;
using HostileInput = Program;

// The first character that a terminal would act on, as a number; 0: there is none.
char32_t acting(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8Sequence(text);
    if (length == 0) return 0xFFFFFFFF;  // not UTF-8
    const char32_t point = utf8CodePoint(text.substr(0, length));
    if (point != U'\n' && actsOnTerminal(point)) return point;
    text.remove_prefix(length);
  }
  return 0;
}

std::string jsonPod(const std::string& name, const std::string& annotations, const std::string& containers) {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + R"(", "namespace": ")" + name +
         R"(", "annotations": {)" + annotations + R"(}}, "spec": {"containers": [)" + containers + "]}}";
}

TEST_F(HostileInput, NothingThatATerminalActsOnIsPrinted) {
  const std::vector<std::string> nasty = {
      R"(\u001b[2J\u001b]0;x\u0007)", R"(a\nerror: forged\r\t)", R"(\u009b31m)",      R"(\u202egnp.exe)",
      R"(\u2028\ufeff\u200b)",        R"(\u007f\u0000)",         "\x7f\u009b1m\u202e"};
  for (const std::string& text : nasty) {
    const std::string annotations =
        fmt::format(R"("memqos.io/{0}": "{0}", "memory-min.memqos.io/{0}": "64MB", "{0}.memqos.io/app": "1", )"
                    R"("memqos.io/memory-high": "{0}", "memqos.io/class": "{0}", "memqos.io/managed": "{0}", )"
                    R"("memqos.io/cgroup": "{0}", "memory-low.memqos.io/app": "64Mi")",
                    text);
    const std::string path =
        file("pod.json", jsonPod(text, annotations, fmt::format(R"({{"name": "app"}}, {{"name": "{}"}})", text)));
    for (const std::string command : {"check", "explain"}) {
      for (const std::string output : {"table", "json", "yaml"}) {
        const Ran ran = run({command, "--config", noConfig(), "-o", output, path});
        EXPECT_EQ(ran.status, 1) << text;
        EXPECT_NE(ran.out + ran.err, "");
        EXPECT_EQ(acting(ran.out), 0U) << command << output << text;
        EXPECT_EQ(acting(ran.err), 0U) << command << output << text;
        for (const std::string& printed : {ran.out, ran.err})
          EXPECT_EQ(printed.find("\nerror: forged"), std::string::npos) << command << output;
      }
    }
  }
}

TEST_F(HostileInput, BytesThatAreNoTextAreRefusedAndNotPrinted) {
  for (const std::string bytes : {"\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\x1b[2J"}) {
    const std::string path =
        file("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {x: " + bytes + "}\n");
    const Ran ran = run({"check", "--config", noConfig(), path});
    EXPECT_EQ(ran.status, 1) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("error"));
    EXPECT_EQ(acting(ran.out), 0U) << ran.out;
  }
}

TEST_F(HostileInput, NamesOfFilesArePrintedSafely) {
  for (const std::string name : {"a\x1b[2J.yaml", "b\nerror.yaml", "c\xff.yaml"}) {
    for (const std::string command : {"check", "explain"}) {
      const Ran ran = run({command, "--config", noConfig(), folder_ + "/" + name});
      EXPECT_EQ(ran.status, 1);
      EXPECT_EQ(acting(ran.out + ran.err), 0U) << name << command;
    }
  }
}

TEST_F(HostileInput, ManyAndHugeAnnotationsMakeAShortAnswer) {
  std::string annotations = R"("memqos.io/memory-low": "64Mi")";
  for (int i = 0; i < 10'000; ++i) annotations += fmt::format(R"(, "memqos.io/x{}": "1")", i);
  for (const char* key : {"memory-min", "class", "reclaim"})
    annotations += fmt::format(R"(, "memqos.io/{}": "{}")", key, std::string(256 * 1024, '['));
  const std::string path =
      file("pod.json", jsonPod("web", annotations, R"({"name": "app", "resources": {"requests": {"memory": "1Gi"}}})"));
  const Ran check = run({"check", "--config", noConfig(), path});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, HasSubstr("more annotations cannot be used"));
  EXPECT_LT(check.out.size(), 200'000U);
  const Ran explain = run({"explain", "--config", noConfig(), path});
  EXPECT_THAT(explain.out, HasSubstr("memory.low  64Mi   64Mi")) << "the good one works";
  EXPECT_LT(explain.out.size() + explain.err.size(), 200'000U);
}

TEST_F(HostileInput, AThousandContainers) {
  std::string containers;
  for (int i = 0; i < 1000; ++i)
    containers +=
        fmt::format(R"({}{{"name": "c{}", "resources": {{"requests": {{"memory": "1Mi"}}}}}})", i > 0 ? "," : "", i);
  const std::string path = file("pod.json", jsonPod("web", R"("memqos.io/memory-min": "50%")", containers));
  EXPECT_EQ(run({"check", "--config", noConfig(), path}).status, 0);
  const Ran explain = run({"explain", "--config", noConfig(), "-o", "json", path});
  EXPECT_EQ(explain.status, 0);
  const document::Node body = explain.json();
  EXPECT_EQ(report::itemsOf(report::itemsOf(body, "pods").at(0), "containers").size(), 1000U);
}

TEST_F(HostileInput, DeepNestingIsOneSentence) {
  for (const std::string& text :
       {jsonPod("a", "", "") + std::string(100'000, '['),
        R"({"kind": "Pod", "x": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}"}) {
    const Ran ran = run({"check", "--config", noConfig(), file("pod.json", text)});
    EXPECT_EQ(ran.status, 1);
    EXPECT_LT(ran.out.size(), 2'000U) << ran.out.substr(0, 500);
  }
}

// What another agent answers is no more trusted than a manifest.
TEST_F(HostileInput, AnAgentsAnswerIsPrintedSafely) {
  world_.request = [](const std::string&, const std::string&, const std::string&) -> Result<Reply> {
    return Reply{200,
                 R"({"pods": [{"namespace": "a\u001b[2J", "pod": "\u202eb", "uid": "u\n", "managed": true, "containers":
      [{"name": "\u009b1m", "cgroup": "x\ny", "knobs": [{"knob": "memory-min", "asked": "\u0007", "wanted": "\u001b", "origin":
      "o\r", "file": "memory.min", "why": "w\u2028"}]}], "findings": [{"key": "\u001b", "value": "\n"}]}]})"};
  };
  for (const std::string output : {"table", "json", "yaml"}) {
    const Ran ran = run({"explain", "shop/web", "-o", output});
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out, "");
    EXPECT_EQ(acting(ran.out), 0U) << output << ran.out;
    EXPECT_EQ(acting(ran.err), 0U) << output << ran.err;
  }
}

}  // namespace
}  // namespace memqos::cli
