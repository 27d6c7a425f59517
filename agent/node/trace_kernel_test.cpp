// What the agent asks of the kernel while nothing happens, and for one change: every system call of a minute, by
// strace.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "node/agent_view.h"
#include "testing/workload.h"

namespace memqos::node {
namespace {

using namespace std::chrono_literals;
using testing::AgentProcess;
using testing::ScopedCgroup;
using testing::waitUntil;

constexpr auto kWatched = 60s;
constexpr int kSampleSeconds = 5;

// strace -y writes a descriptor as N<path>: calls on held descriptors name their files too.
class Trace {
 public:
  explicit Trace(AgentProcess& agent) : file_(agent.folder() + "/trace") {
    std::vector<std::string> command = {testing::binary("strace"), "-D", "-f", "-y", "-s", "200", "-o", file_};
    const auto rest = agent.command();
    command.insert(command.end(), rest.begin(), rest.end());
    const std::string log = agent.folder() + "/agent.log";
    agent.adopt(testing::spawn(command, log, log));
  }
  // Calls so far.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  [[nodiscard]] std::vector<std::string> since(std::size_t line) const {
    auto all = lines();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(line, all.size())));
    return all;
  }

 private:
  std::string file_;
};

// Manifests aside, which name cgroups too.
std::vector<std::string> naming(const std::vector<std::string>& lines, const std::string& text) {
  std::vector<std::string> out;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(out), [&](const std::string& line) {
    return line.find(text) != std::string::npos && line.find(".yaml>") == std::string::npos;
  });
  return out;
}

// The calls that write `file` of the cgroup.
std::size_t writes(const std::vector<std::string>& lines, const std::string& cgroup, const std::string& file) {
  const std::string path = fmt::format("<{}/{}/{}>", testing::kCgroupMount, cgroup, file);
  const auto found = naming(lines, path);
  return static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [](const std::string& line) {
    return line.find(" write(") != std::string::npos || line.find(" pwrite64(") != std::string::npos;
  }));
}

class SystemCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testing::binary("strace"))) GTEST_SKIP() << "no strace in this guest";
  }
  void declare(const AgentProcess& agent, int mib) const {
    agent.pod("asks", asks_.pod,
              {{"cgroup.memqos.io/main", asks_.container},
               {"memqos.io/memory-min", fmt::format("{}Mi", mib)},
               {"memqos.io/memory-high", "128Mi"}},
              "{requests: {memory: 64Mi}, limits: {memory: 256Mi}}");
  }
  [[nodiscard]] bool holds(int mib) const {
    return waitUntil([&] { return container_.read("memory.min") == fmt::format("{}\n", mebibytes(mib).count); }, 300s);
  }

  const Place asks_ = systemdPlace("burstable", '1');
  const Place asksNothing_ = systemdPlace("burstable", '2');
  const Place nobodys_ = systemdPlace("burstable", '3');
  const ScopedCgroup container_{asks_.container};
  const ScopedCgroup other_{asksNothing_.container};
  const ScopedCgroup stranger_{nobodys_.container};
};

TEST_F(SystemCalls, AMinuteNamesNoFileOfAPodThatAsksForNothingAndOneChangeIsOneWrite) {
  AgentProcess agent;
  declare(agent, 16);
  agent.pod("plain", asksNothing_.pod, {{"cgroup.memqos.io/main", asksNothing_.container}});
  const Trace trace(agent);
  ASSERT_TRUE(agent.waitReady()) << agent.log();
  ASSERT_TRUE(holds(16)) << agent.log();
  // Its pages are charged to the neighbour that asks for nothing, so that it is not idle.
  auto busy = testing::Workload::hot(other_, mebibytes(4));
  ASSERT_TRUE(busy.waitReady());

  // The looks that end its discovery come until nothing is left to see.
  ASSERT_TRUE(waitUntil([&] {
    const std::size_t at = trace.lines().size();
    std::this_thread::sleep_for(std::chrono::seconds(kSampleSeconds));
    return naming(trace.since(at), "memory.high").empty();
  }));
  const std::size_t begin = trace.lines().size();
  std::this_thread::sleep_for(kWatched);
  const std::vector<std::string> idle = trace.since(begin);
  EXPECT_THAT(naming(idle, asksNothing_.pod), ::testing::IsEmpty());
  EXPECT_THAT(naming(idle, nobodys_.pod), ::testing::IsEmpty());
  for (const char* file : {"memory.min", "memory.low", "memory.high"})
    EXPECT_THAT(naming(idle, file), ::testing::IsEmpty());
  // The one regular sample, and nothing else: its three files, held open, read at most once in five seconds.
  const auto own = naming(idle, asks_.container);
  for (const std::string& line : own)
    EXPECT_TRUE(std::regex_search(line, std::regex("pread64\\(.*memory\\.(current|events|pressure)>"))) << line;
  const auto usage = naming(own, "memory.current");
  EXPECT_FALSE(usage.empty()) << "no sample at all: the test would prove nothing";
  const auto opened = std::count_if(usage.begin(), usage.end(),
                                    [](const std::string& line) { return line.find("openat(") != std::string::npos; });
  EXPECT_LE(opened, std::chrono::seconds(kWatched).count() / kSampleSeconds + 2);  // one at each end

  const std::size_t change = trace.lines().size();
  declare(agent, 32);
  ASSERT_TRUE(holds(32)) << agent.log();
  ASSERT_TRUE(waitUntil(
      [&] { return ScopedCgroup("kubepods.slice").read("memory.min") == fmt::format("{}\n", mebibytes(32).count); }));
  std::this_thread::sleep_for(2s);  // for a second write that should not come
  const std::vector<std::string> changed = trace.since(change);
  for (const std::string& cgroup : {asks_.container, asks_.pod, std::string("kubepods.slice/kubepods-burstable.slice"),
                                    std::string("kubepods.slice")})
    EXPECT_EQ(writes(changed, cgroup, "memory.min"), 1U) << cgroup;
  EXPECT_EQ(writes(changed, asks_.container, "memory.high"), 0U);
  EXPECT_THAT(naming(changed, asksNothing_.pod), ::testing::IsEmpty());
  EXPECT_THAT(naming(changed, nobodys_.pod), ::testing::IsEmpty());
}

}  // namespace
}  // namespace memqos::node
