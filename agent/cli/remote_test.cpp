// Subcommands that ask a running agent: the socket is a function here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "cli/harness.h"
#include "report/values.h"

namespace memqos::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kExplained = R"({"pods":[{"namespace":"shop","pod":"web","uid":"u-1","managed":true,"containers":[
{"name":"app","cgroup":"pods/app","knobs":[{"knob":"memory-min","asked":"64Mi","wanted":67108864,
"origin":"annotation memqos.io/memory-min","file":"memory.min","current":67108864,"effective":0,"takesEffect":false,
"why":"kubepods.slice has memory.min 0"}]}],"findings":[{"severity":"warning","problem":"was lowered"}],"later":1}]})";

class Remote : public Program {
 protected:
  // The agent answers `status` and `body` to everything, and what it was asked is noted.
  void answer(int status, std::string body) {
    world_.request = [this, status, body = std::move(body)](const std::string& path, const std::string& method,
                                                            const std::string& target) -> Result<Reply> {
      asked_.push_back(method + " " + path + " " + target);
      return Reply{status, body};
    };
  }
  void refuse(int error) {
    world_.request = [error](const std::string& path, const std::string&, const std::string&) -> Result<Reply> {
      return failErrno(error, "cannot connect", path);
    };
  }
  std::vector<std::string> asked_;
};

TEST_F(Remote, ExplainRendersTheAgentsAnswer) {
  answer(200, kExplained);
  const Ran table = run({"explain", "shop/web", "--run-dir", "/r"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(asked_, ElementsAre("GET /r/agent.sock /explain?pod=shop%2Fweb"));
  EXPECT_EQ(
      table.out,
      "pod shop/web, uid u-1\n"
      "  container app, cgroup pods/app\n"
      "    KNOB        FILE        ASKED  WANTED  CURRENT  EFFECTIVE  TAKES EFFECT  ORIGIN                           "
      "WHY\n"
      "    memory-min  memory.min  64Mi   64Mi    64Mi     0          no            annotation memqos.io/memory-min  "
      "kubepods.slice has memory.min 0\n");
  EXPECT_THAT(table.err, HasSubstr("was lowered"));
  // JSON is the agent's own, with what a newer one may add.
  const Ran json = run({"explain", "shop/web", "-o", "json"});
  EXPECT_EQ(report::field(report::itemsOf(json.json(), "pods").at(0), "later"), "1");
  EXPECT_THAT(run({"explain", "shop/web", "-o", "yaml"}).out, HasSubstr("takesEffect: false"));
}

TEST_F(Remote, AnUnknownPodIsTheUsers) {
  answer(404, R"({"error":"no pod shop/nope is known here"})");
  const Ran ran = run({"explain", "shop/nope"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "memqos-agent: no pod shop/nope is known here\n");
}

TEST_F(Remote, FlagsOfAFileDoNotGoWithAPod) {
  answer(200, kExplained);
  EXPECT_EQ(run({"explain", "shop/web", "--allocatable", "1Gi"}).status, 1);
  EXPECT_EQ(run({"explain", "shop/web", "--config", "/c"}).status, 1);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Remote, WithoutAnAgentTheNodeLacksIt) {
  for (const int error : {ENOENT, ECONNREFUSED}) {
    refuse(error);
    for (const char* command : {"explain", "top"}) {
      std::vector<std::string> arguments = {command};
      if (arguments[0] == "explain") arguments.emplace_back("shop/web");
      const Ran ran = run(arguments);
      EXPECT_EQ(ran.status, 2) << command;
      EXPECT_THAT(ran.err, HasSubstr("no agent runs here")) << command;
    }
  }
}

TEST_F(Remote, OtherFailuresOfTheAgent) {
  refuse(EACCES);
  EXPECT_EQ(run({"top"}).status, 1);
  refuse(ETIMEDOUT);
  EXPECT_EQ(run({"top"}).status, 2);
  answer(503, "");
  const Ran busy = run({"top"});
  EXPECT_EQ(busy.status, 2);
  EXPECT_THAT(busy.err, HasSubstr("503"));
  answer(404, "no such page\n");
  EXPECT_EQ(run({"top"}).err, "memqos-agent: no such page\n");
  answer(200, "<html>");
  EXPECT_EQ(run({"top"}).status, 2);
}

constexpr const char* kTop = R"({"containers":[{"namespace":"shop","pod":"web","container":"app","usage":123456789,
"min":67108864,"low":0,"high":"max","pressureSomeSeconds":1,"throttleEscapes":0}]})";

TEST_F(Remote, TopPrintsOnceWhereNobodyWatches) {
  answer(200, kTop);
  world_.pause = [] { return true; };  // would never end
  const Ran ran = run({"top"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out,
            "NAMESPACE  POD  CONTAINER    USAGE   MIN  LOW  HIGH  PRESSURE  ESCAPES\n"
            "shop       web  app        117.7Mi  64Mi    0   max      1.0s        0\n");
  terminal_ = true;
  EXPECT_EQ(run({"top", "--once"}).out, ran.out);
  EXPECT_EQ(run({"top", "-o", "json"}).status, 0);
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(Remote, TopRefreshesOnATerminal) {
  answer(200, kTop);
  terminal_ = true;
  int pauses = 0;
  world_.pause = [&] { return ++pauses < 3; };
  const Ran ran = run({"top"});
  EXPECT_EQ(asked_.size(), 3U);
  EXPECT_THAT(ran.out, HasSubstr("\x1b[H\x1b[2J"));
}

TEST_F(Remote, RestoreAsksTheAgent) {
  answer(200, R"({"files":[{"file":"a/memory.high","from":104857600,"to":"max","result":"restored"}]})");
  world_.restoreOffline = [](const std::string&) -> Result<std::vector<report::RestoredFile>> {
    ADD_FAILURE() << "the agent does it";
    return fail(Code::internal, "");
  };
  const Ran ran = run({"restore"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(asked_, ElementsAre("POST /run/memqos/agent.sock /restore"));
  EXPECT_EQ(ran.out,
            "FILE            FROM   TO  RESULT\n"
            "a/memory.high  100Mi  max  restored\n");
}

TEST_F(Remote, RestoreDoesItItselfWithoutAnAgent) {
  std::string runDir;
  world_.restoreOffline = [&](const std::string& dir) -> Result<std::vector<report::RestoredFile>> {
    runDir = dir;
    return std::vector<report::RestoredFile>{{"a/memory.min", Limit(kMiB), Limit(Bytes{0}), "restored"}};
  };
  const Ran ran = run({"restore", "--run-dir", "/r", "-o", "json"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(runDir, "/r");
  EXPECT_EQ(document::dumpJson(ran.json()),
            R"({"files":[{"file":"a/memory.min","from":1048576,"to":0,"result":"restored"}]})");
}

TEST_F(Remote, RestoreThatFails) {
  EXPECT_EQ(run({"restore"}).status, 2);  // the lock is held
  world_.restoreOffline = [](const std::string&) -> Result<std::vector<report::RestoredFile>> {
    return std::vector<report::RestoredFile>{{"a/memory.min", {}, {}, "cannot be written: Input/output error"}};
  };
  const Ran partly = run({"restore"});
  EXPECT_EQ(partly.status, 2);
  EXPECT_THAT(partly.out, HasSubstr("Input/output error"));
  EXPECT_THAT(partly.err, HasSubstr("1 file could not be restored"));
  // An agent that is there but does not answer is not bypassed.
  refuse(ETIMEDOUT);
  world_.restoreOffline = [](const std::string&) -> Result<std::vector<report::RestoredFile>> {
    ADD_FAILURE() << "an agent may be writing";
    return fail(Code::internal, "");
  };
  EXPECT_EQ(run({"restore"}).status, 2);
}

TEST_F(Remote, NothingToRestore) {
  answer(200, R"({"files":[]})");
  EXPECT_EQ(run({"restore"}).out, "nothing to restore\n");
}

}  // namespace
}  // namespace memqos::cli
