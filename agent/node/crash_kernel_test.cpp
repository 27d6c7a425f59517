// What the agent promises when it dies: at each step of what it writes, and at any moment. memory.high goes back by the
// watchdog; a restart ends with what is wanted; a restore with what was there before.
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "node/agent_view.h"
#include "testing/syscall_killer.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using namespace std::chrono_literals;
using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::SyscallKiller;
using testing::waitUntil;
using testing::Workload;

constexpr auto kLong = 120s;  // an emulated machine under load
const std::string kRoot = "kubepods.slice";
const std::string kQos = kRoot + "/kubepods-burstable.slice";

using Values = std::map<std::string, std::string>;  // path of a control file -> what it holds, or is to hold
using Annotations = std::vector<std::pair<std::string, std::string>>;

std::string pages(std::int64_t mib) {
  return std::to_string(mib * kMiB.count);
}

// With the multi-generational LRU a wanted memory.low is held as memory.min too.
bool lowIsHeld() {
  std::ifstream file("/sys/kernel/mm/lru_gen/enabled");
  std::string flags;
  return file >> flags && std::strtol(flags.c_str(), nullptr, 16) != 0;
}

// kill -9 of each memqos-helper; false: there was none.
bool killHelpers() {
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(entry.path() / "exe", error);
    if (error || program.filename() != "memqos-helper") continue;
    found = ::kill(static_cast<pid_t>(std::stol(entry.path().filename().string())), SIGKILL) == 0 || found;
  }
  return found;
}

class Crash : public ::testing::Test {
 protected:
  Crash() {
    // What the kubelet and the runtime left: not all of it is the kernel's default.
    ScopedCgroup(kQos).write("memory.min", pages(4));
    ScopedCgroup(kQos).write("memory.low", pages(8));
    container_.write("memory.swap.max", pages(512));
    baseline_ = now();
  }

  Values now() const {
    Values out;
    const auto add = [&](const std::string& cgroup, const std::string& file) {
      std::string text;
      std::ifstream(fmt::format("{}/{}/{}", testing::kCgroupMount, cgroup, file)) >> text;
      out[cgroup + "/" + file] = text;
    };
    for (const auto& cgroup : {kRoot, kQos, place_.pod, place_.container}) {
      add(cgroup, "memory.min");
      add(cgroup, "memory.low");
    }
    for (const auto* file : {"memory.high", "memory.swap.max", "memory.oom.group"}) add(place_.container, file);
    return out;
  }
  [[nodiscard]] std::string high() const { return now().at(place_.container + "/memory.high"); }
  [[nodiscard]] std::string baselineHigh() const { return baseline_.at(place_.container + "/memory.high"); }

  // What all files hold once a set of annotations is applied, in MiB.
  Values applied(std::int64_t min, std::int64_t low, std::int64_t high, std::int64_t swap, bool oomGroup) const {
    Values out = baseline_;
    for (const auto& cgroup : {kRoot, kQos, place_.pod, place_.container}) {
      out[cgroup + "/memory.min"] = pages(lowIsHeld() ? std::max(min, low) : min);
      out[cgroup + "/memory.low"] = pages(low);
    }
    out[place_.container + "/memory.high"] = pages(high);
    out[place_.container + "/memory.swap.max"] = pages(swap);
    if (oomGroup) out[place_.container + "/memory.oom.group"] = "1";
    return out;
  }
  void annotate(Annotations annotations) const {
    annotations.emplace_back("cgroup.memqos.io/main", place_.container);
    agent_.pod("db", place_.pod, annotations, "{requests: {memory: 128Mi}, limits: {memory: 512Mi}}");
  }
  // Two sets that differ in every file, some going up and some down between them.
  void annotateA() const {
    annotate({{"memqos.io/memory-min", "32Mi"},
              {"memqos.io/memory-low", "48Mi"},
              {"memqos.io/memory-high", "160Mi"},
              {"memqos.io/swap-max", "64Mi"},
              {"memqos.io/oom-group", "true"}});
  }
  Values appliedA() const { return applied(32, 48, 160, 64, true); }
  void annotateB() const {
    annotate({{"memqos.io/memory-min", "40Mi"},
              {"memqos.io/memory-low", "44Mi"},
              {"memqos.io/memory-high", "128Mi"},
              {"memqos.io/swap-max", "128Mi"}});
  }
  Values appliedB() const { return applied(40, 44, 128, 128, false); }

  std::string log() const { return agent_.folder() + "/agent.log"; }
  // Nothing that needs somebody to watch it outlives the agent by more than the watchdog.
  void expectWatched(const std::string& where) const {
    ASSERT_TRUE(agent_.waitForWatchdog()) << where;
    EXPECT_EQ(high(), baselineHigh()) << where;
    for (const auto& cgroup : {kRoot, kQos, place_.pod, place_.container}) {
      EXPECT_LE(std::stoll(now().at(cgroup + "/memory.min")), 40 * kMiB.count) << where << ": a low held as min";
    }
  }
  void expectRestores(const std::string& where) const {
    const auto restored = agent_.cli({"restore"});
    EXPECT_EQ(restored.status, 0) << where << restored.out << restored.err;
    EXPECT_EQ(now(), baseline_) << where << restored.out;
  }

  const Place place_ = systemdPlace("burstable", '9');
  const ScopedCgroup container_{place_.container};
  AgentProcess agent_;
  Values baseline_;
};

TEST_F(Crash, AtEachStepOfTheFirstPlan) {
  annotateA();
  bool whole = false;
  int steps = 0;
  while (!whole && !HasFailure()) {
    const int nth = ++steps;
    SyscallKiller agent(agent_.command(), log(), nth);
    ASSERT_TRUE(waitUntil([&] { return agent.ended() || now() == appliedA(); }, kLong)) << nth << agent_.log();
    whole = !agent.ended();
    agent.kill();
    ASSERT_TRUE(whole || agent.killedByCount()) << "it ended by itself" << agent_.log();
    const std::string where = fmt::format("killed before call {}: {}\n", nth, agent.lastCall());
    expectWatched(where);
    if (nth % 3 == 0) {
      agent_.start();
      EXPECT_TRUE(waitUntil([&] { return now() == appliedA(); }, kLong)) << where << agent_.log();
      agent_.kill();
      expectWatched(where);
    }
    expectRestores(where);
  }
  RecordProperty("steps", steps);
  // 11 files, each opened and written after its record; memory.high is also told to the watchdog.
  EXPECT_GE(steps, 11 * 3 + 2);
}

TEST_F(Crash, AtEachStepOfAChange) {
  container_.write("memory.high", pages(300));  // the kubelet's, from its throttling factor
  baseline_ = now();
  annotateA();
  bool isA = true;
  std::map<bool, bool> whole;  // by direction
  int nth = 0;
  while ((!whole[true] || !whole[false]) && !HasFailure()) {
    ++nth;
    SyscallKiller agent(agent_.command(), log());
    // A restart, mostly of an agent that died in the middle of the last change.
    const Values before = isA ? appliedA() : appliedB();
    const Values after = isA ? appliedB() : appliedA();
    ASSERT_TRUE(waitUntil([&] { return now() == before; }, kLong)) << nth << agent_.log();
    agent.killBefore(nth);
    isA ? annotateB() : annotateA();
    ASSERT_TRUE(waitUntil([&] { return agent.ended() || now() == after; }, kLong)) << nth << agent_.log();
    whole[isA] = !agent.ended();
    agent.kill();
    isA = !isA;
    const std::string where = fmt::format("killed before call {}: {}\n", nth, agent.lastCall());
    expectWatched(where);
    if (nth % 4 < 2) expectRestores(where);
  }
  RecordProperty("steps", nth);
  EXPECT_GE(nth, 9 * 3) << "at least 9 files differ";
  expectRestores("at the end");
}

TEST_F(Crash, AtEachStepOfARestore) {
  annotateA();
  agent_.start();
  ASSERT_TRUE(waitUntil([&] { return now() == appliedA(); }, kLong)) << agent_.log();
  agent_.kill();
  ASSERT_TRUE(agent_.waitForWatchdog());
  const std::string journalPath = agent_.folder() + "/run/journal";
  std::stringstream journal;
  journal << std::ifstream(journalPath).rdbuf();
  bool whole = false;
  int steps = 0;
  while (!whole && !HasFailure()) {
    const int nth = ++steps;
    // As the agent left it; here even memory.high, as if the watchdog had been killed too.
    for (const auto& [path, value] : appliedA()) {
      std::ofstream(fmt::format("{}/{}", testing::kCgroupMount, path)) << value << std::flush;
    }
    std::ofstream(journalPath) << journal.str() << std::flush;
    ASSERT_EQ(now(), appliedA());
    const std::vector<std::string> command = {testing::binary("memqos-agent"), "restore", "--run-dir",
                                              agent_.folder() + "/run"};
    SyscallKiller restore(command, log(), nth);
    const int status = restore.wait();
    whole = !restore.killedByCount();
    EXPECT_TRUE(!whole || status == 0) << status;
    expectRestores(fmt::format("restore killed before call {}: {}\n", nth, restore.lastCall()));
  }
  RecordProperty("steps", steps);
  EXPECT_GE(steps, 11 * 3) << "11 files, each opened, written and crossed off";
}

// The kubelet rewrites its slices, annotations come and go, and the agent dies again and again.
TEST_F(Crash, AtAnyMoment) {
  constexpr int kKills = 20;
  // Cache that has to be reclaimed before memory.high may go down.
  Workload cache = Workload::streamHoles(container_, mebibytes(140), 1);
  ASSERT_TRUE(cache.waitReady());
  annotateA();
  std::atomic<bool> stop = false;
  std::thread others([&] {
    const ScopedCgroup qos(kQos);
    for (int round = 0; !stop; ++round) {
      qos.write("memory.min", pages(4));
      qos.write("memory.low", pages(8));
      switch (round % 4) {
        case 0:
          annotateA();
          break;
        case 1:
        case 3:
          annotateB();
          break;
        default:
          agent_.removeManifest("db");
      }
      std::this_thread::sleep_for(100ms);
    }
  });
  std::mt19937 random(20);  // NOLINT(cert-msc51-cpp): the same delays every time
  std::uniform_int_distribution<int> delay(0, 1500);
  for (int i = 0; i < kKills && !HasFailure(); ++i) {
    agent_.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(delay(random)));
    EXPECT_TRUE(agent_.running()) << agent_.log();
    agent_.kill();
    expectWatched(fmt::format("kill {}\n", i));
  }
  stop = true;
  others.join();
  annotateA();
  agent_.start();
  EXPECT_TRUE(waitUntil([&] { return now() == appliedA(); }, kLong)) << agent_.log();
  expectRestores("at the end");
  EXPECT_TRUE(cache.running());
}

// Somebody killed the watchdog: what it would have undone must not stay, since the agent may be next.
TEST_F(Crash, OfTheWatchdogItself) {
  annotateA();
  agent_.start();
  ASSERT_TRUE(waitUntil([&] { return now() == appliedA(); }, kLong)) << agent_.log();
  ASSERT_TRUE(killHelpers());
  // A held low is only what memory.min itself asks for then.
  Values left = appliedA();
  left[place_.container + "/memory.high"] = baselineHigh();
  for (const auto& cgroup : {kRoot, kQos, place_.pod, place_.container}) left[cgroup + "/memory.min"] = pages(32);
  EXPECT_TRUE(waitUntil([&] { return now() == left; }, kLong)) << agent_.log();
  EXPECT_NE(agent_.log().find("WatchdogLost"), std::string::npos);
  EXPECT_NE(at(explained(agent_, "default/db", "main", "memory-high"), "why").find("watchdog"), std::string::npos);
  agent_.kill();
  expectRestores("without a watchdog");
}

}  // namespace
}  // namespace memqos::node
