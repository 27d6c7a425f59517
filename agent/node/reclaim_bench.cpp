// What background reclaim costs for containers that do nothing: the keeper on a real loop and real lanes, over a folder
// that plays 1,000 containers. No emulation, no kernel.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "loop/signals.h"
#include "node/reclaim_keeper.h"
#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;

constexpr int kContainers = 1000;
constexpr auto kTime = std::chrono::seconds(80);  // each has at least one slow look

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string row(const char* figure, double value, double goal) {
  fmt::print("  {:<6} {:<40} {:>10} {:>10.3f} {:>8}  <= {:<11} {}\n", "none", figure, "-", value, "-", goal,
             value <= goal ? "met" : "NOT MET");
  return fmt::format(
      R"json({{"figure":"{}","kernel":"none","unit":"% of a core","without":null,"with":{:.4f},"ratio":null,"goal":"<= {}","met":{}}})json",
      figure, value, goal, value <= goal);
}

void idleFor(loop::Loop& loop, std::chrono::seconds time) {
  const auto end = loop.after(time, [&] { loop.stop(0); });
  loop.run();
}

int bench(const std::string& out) {
  FakeTree tree;
  std::vector<testing::Node> containers;
  for (int i = 0; i < kContainers; ++i) {
    tree.add("",
             {dir(fmt::format("c{}", i), {cgroupFiles({{"memory.current", "20971520"},
                                                       {"memory.stat", "file 16777216\ninactive_file 16777216"}})})});
  }
  const auto root = cgroup::Root::open(tree.path());
  ReclaimTargets targets;
  for (int i = 0; root && i < kContainers; ++i) {
    ReclaimTarget one;
    one.uid = fmt::format("u{}", i);
    one.container = "main";
    one.cgroup = root->find(fmt::format("c{}", i)).value();
    one.wanted.id = one.cgroup->id();
    one.wanted.how = reclaim::How::watermark;
    one.wanted.limit = mebibytes(64);
    targets.containers.push_back(std::move(one));
  }
  const loop::SignalsBlocked blocked;
  const auto measure = [&](bool reclaim) -> double {
    auto loop = loop::makeLoop();
    if (!loop) return NAN;
    const auto sampleLane = loop::makeLane(**loop, "sample", 1, 64);
    const auto reclaimLane = loop::makeLane(**loop, "reclaim", 2);
    ReclaimKeeper keeper(
        **loop, *sampleLane, *reclaimLane, {true, true, kMiB, 2},
        {[](loop::Duration) {}, [] {}, [](const std::string&, const std::vector<policy::Finding>&) {}});
    if (reclaim) keeper.watch(targets);
    double before = cpuSeconds();
    const auto mark = (*loop)->after(std::chrono::seconds(6), [&] { before = cpuSeconds(); });
    idleFor(**loop, std::chrono::duration_cast<std::chrono::seconds>(kTime) + std::chrono::seconds(6));
    return (cpuSeconds() - before) / static_cast<double>(kTime.count()) * 100;
  };
  const double share = measure(true) - measure(false);
  std::ofstream(out) << "[" << row("reclaim of 1000 idle containers", share, 0.5) << "\n]\n";
  return 0;
}

}  // namespace
}  // namespace memqos::node

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: reclaim_bench OUT.json\n");
    return 1;
  }
  return memqos::node::bench(argv[1]);
}
