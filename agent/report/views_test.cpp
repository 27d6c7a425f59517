#include <gtest/gtest.h>

#include "report/probe.h"
#include "report/restore.h"
#include "report/top.h"
#include "report/values.h"

namespace memqos::report {
namespace {

PodState pod(const std::string& name) {
  PodState state;
  state.plan.nameSpace = "shop";
  state.plan.name = name;
  ContainerState container;
  container.name = "app";
  container.cgroup = "x/" + name;
  state.containers.push_back(container);
  return state;
}

TEST(Top, RowsByNameWithNullForTheUnknown) {
  Snapshot snapshot;
  snapshot.pods = {pod("web"), pod("db"), pod("waiting")};
  auto& web = snapshot.pods[0].containers[0];
  web.usage = Bytes{123456789};
  web.at(cgroup::File::memoryMin).current = Limit(mebibytes(64));
  web.at(cgroup::File::memoryLow).current = Limit(Bytes{0});
  web.at(cgroup::File::memoryHigh).current = Limit::max();
  web.pressureSome = std::chrono::microseconds(1'500'000);
  web.throttleEscapes = 2;
  snapshot.pods[2].containers[0].cgroup.clear();
  const document::Node body = topBody(snapshot);
  EXPECT_EQ(document::dumpJson(body),
            R"({"containers":[{"namespace":"shop","pod":"db","container":"app","usage":null,"min":null,"low":null,)"
            R"("high":null,"pressureSomeSeconds":null,"throttleEscapes":0},)"
            R"({"namespace":"shop","pod":"web","container":"app","usage":123456789,"min":67108864,"low":0,)"
            R"("high":"max","pressureSomeSeconds":1.5,"throttleEscapes":2}]})");
  EXPECT_EQ(topText(body),
            "NAMESPACE  POD  CONTAINER    USAGE   MIN  LOW  HIGH  PRESSURE  ESCAPES\n"
            "shop       db   app              -     -    -     -         -        0\n"
            "shop       web  app        117.7Mi  64Mi    0   max      1.5s        2\n");
}

TEST(Probe, ShapeAndText) {
  Probe probe;
  probe.kernel = "6.12.41";
  probe.driver = cgroup::Driver::systemd;
  probe.root = "/sys/fs/cgroup";
  probe.features = {{"memory.reclaim", true, "opened for writing", {"reclaim", "page-cache-limit"}, true},
                    {"zswap", false, "no file", {}, true},
                    {"freeze", false, "nothing to try", {}, false}};
  const document::Node body = probeBody(probe);
  EXPECT_EQ(document::dumpJson(body),
            R"({"kernel":"6.12.41","cgroup":{"version":2,"driver":"systemd","root":"/sys/fs/cgroup"},)"
            R"("features":[{"name":"memory.reclaim","available":true,"known":true,"evidence":"opened for writing",)"
            R"("neededBy":["reclaim","page-cache-limit"]},)"
            R"({"name":"zswap","available":false,"known":true,"evidence":"no file","neededBy":[]},)"
            R"({"name":"freeze","available":false,"known":false,"evidence":"nothing to try","neededBy":[]}]})");
  EXPECT_EQ(probeText(body),
            "kernel  6.12.41\n"
            "cgroup  v2 at /sys/fs/cgroup, systemd driver\n"
            "\n"
            "FEATURE         AVAILABLE  EVIDENCE            NEEDED BY\n"
            "memory.reclaim  yes        opened for writing  reclaim, page-cache-limit\n"
            "zswap           no         no file\n"
            "freeze          unknown    nothing to try\n");
}

TEST(Restore, ShapeTextAndFailures) {
  const std::vector<RestoredFile> files = {
      {"a/memory.high", Limit(mebibytes(100)), Limit::max(), std::string(kRestored)},
      {"a/memory.oom.group", Limit(Bytes{1}), Limit(Bytes{0}), std::string(kUnchanged)},
      {"b/memory.min", std::nullopt, std::nullopt, "cannot be written: Permission denied"}};
  const document::Node body = restoreBody(files);
  EXPECT_EQ(document::dumpJson(body),
            R"({"files":[{"file":"a/memory.high","from":104857600,"to":"max","result":"restored"},)"
            R"({"file":"a/memory.oom.group","from":true,"to":false,"result":"unchanged"},)"
            R"({"file":"b/memory.min","from":null,"to":null,"result":"cannot be written: Permission denied"}]})");
  EXPECT_EQ(countFailed(body), 1U);
  EXPECT_FALSE(failed(files[0]));
  EXPECT_TRUE(failed(files[2]));
  EXPECT_EQ(restoreText(body),
            "FILE                 FROM     TO  RESULT\n"
            "a/memory.high       100Mi    max  restored\n"
            "a/memory.oom.group   true  false  unchanged\n"
            "b/memory.min            -      -  cannot be written: Permission denied\n");
  EXPECT_EQ(restoreText(restoreBody({})), "nothing to restore\n");
}

}  // namespace
}  // namespace memqos::report
