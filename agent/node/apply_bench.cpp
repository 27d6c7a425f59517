// How fast a change reaches the kernel's files, and what the agent costs meanwhile: 110 pods with 330 containers.
//   apply_bench fake OUT.json      the agent inside this process, on a folder that plays the cgroup file system: no
//   kernel
//                                  cgroups, no emulation
//   apply_bench real OUT.json      the real executable on /sys/fs/cgroup, in a guest
// Prints a table and writes the figures as JSON.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "control/fake_watchdog.h"
#include "document/node.h"
#include "node/agent.h"
#include "node/process.h"
#include "testing/agent_process.h"
#include "testing/fake_tree.h"

namespace memqos::node {
namespace {

using Clock = std::chrono::steady_clock;
using document::Node;

constexpr int kPods = 110;
constexpr int kContainers = 3;
constexpr int kRounds = 300;
constexpr int kIdleSeconds = 30;

std::string podPath(int pod) {
  return fmt::format(
      "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{:08x}_0000_0000_0000_000000000000.slice", pod);
}

std::string manifest(int pod, int min, bool asks = true) {
  std::string text =
      fmt::format("apiVersion: v1\nkind: Pod\nmetadata:\n  name: pod{}\n  annotations:\n    memqos.io/cgroup: {}\n",
                  pod, podPath(pod));
  if (asks)
    text += fmt::format(
        "    memqos.io/memory-min: {}Ki\n    memqos.io/memory-high: 512Mi\n    memqos.io/oom-group: \"true\"\n", min);
  text += "spec:\n  containers:\n";
  for (int i = 0; i < kContainers; ++i) {
    text += fmt::format(
        "  - name: c{}\n    image: none\n    resources: {{requests: {{memory: 64Mi}}, limits: {{memory: 1Gi}}}}\n", i);
  }
  return text;
}

// Where cgroups are made: the kernel's file system, or a folder.
class Tree {
 public:
  virtual ~Tree() = default;
  virtual void make(const std::string& path) = 0;
  virtual void remove(const std::string& path) = 0;
  [[nodiscard]] virtual std::string file(const std::string& path, const std::string& name) const = 0;
  void write(const std::string& path, const std::string& name, const std::string& value) const {
    std::ofstream(file(path, name)) << value << std::flush;
  }
  [[nodiscard]] std::string read(const std::string& path, const std::string& name) const {
    auto text = readFile(file(path, name), 4096);
    if (!text) return {};
    while (text->ends_with("\n")) text->pop_back();
    return *text;
  }
};

class FakeCgroups final : public Tree {
 public:
  void make(const std::string& path) override {
    const auto slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
    const std::string name = path.substr(parent.empty() ? 0 : slash + 1);
    // As in the kernel, the files are there with the directory.
    tree_.add("stage", {testing::dir("new", {testing::cgroupFiles({{"memory.current", "1048576"}})})});
    std::filesystem::rename(tree_.path("stage/new"),
                            tree_.path("cgroup/" + (parent.empty() ? name : parent + "/" + name)));
  }
  void remove(const std::string& path) override { tree_.remove("cgroup/" + path); }
  [[nodiscard]] std::string file(const std::string& path, const std::string& name) const override {
    return tree_.path("cgroup/" + path + "/" + name);
  }
  [[nodiscard]] std::string folder(const std::string& name) const { return tree_.path(name); }

 private:
  testing::FakeTree tree_{testing::dir("cgroup", {testing::cgroupFiles()}), testing::dir("stage"), testing::dir("pods"),
                          testing::dir("run"), testing::dir("config")};
};

class RealCgroups final : public Tree {
 public:
  void make(const std::string& path) override {
    std::filesystem::create_directory("/sys/fs/cgroup/" + path);
    std::ofstream("/sys/fs/cgroup/" + path + "/cgroup.subtree_control") << "+memory";
  }
  void remove(const std::string& path) override { ::rmdir(("/sys/fs/cgroup/" + path).c_str()); }
  [[nodiscard]] std::string file(const std::string& path, const std::string& name) const override {
    return "/sys/fs/cgroup/" + path + "/" + name;
  }
};

// The agent, whichever way it runs.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void put(const std::string& name, const std::string& text) = 0;
  virtual void drop(const std::string& name) = 0;
  virtual std::string processFolder() = 0;  // /proc/PID, or of its thread group
};

class InProcess final : public Subject {
 public:
  explicit InProcess(const FakeCgroups& cgroups) : cgroups_(cgroups) {
    log::configure(log::Level::error, log::Format::text);
    prepareProcess();
    loop_ = std::move(*loop::makeLoop());
    Ground ground;
    ground.hierarchy.root = cgroups.folder("cgroup");
    ground.root = std::make_shared<const cgroup::Root>(*cgroup::Root::open(ground.hierarchy.root));
    ground.facts.allocatable = Bytes{64 * kGiB.count};
    ground.writer = std::make_shared<control::Writer>(
        std::make_unique<control::Files>(), std::move(*control::Journal::open(cgroups.folder("run"), "bench")),
        std::make_unique<control::FakeWatchdog>());
    Options options;
    options.podsDir = cgroups.folder("pods");
    options.configDir = cgroups.folder("config");
    agent_ = std::make_unique<Agent>(options, config::Config{}, std::move(ground), *loop_, exposition_);
    if (auto started = agent_->start(); !started) throw std::runtime_error(started.error().text());
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~InProcess() override {
    loop_->post([this] { agent_->stop(); });
    thread_.join();
  }
  void put(const std::string& name, const std::string& text) override {
    std::ofstream(cgroups_.folder("stage") + "/" + name) << text;
    std::filesystem::rename(cgroups_.folder("stage") + "/" + name, cgroups_.folder("pods") + "/" + name + ".yaml");
  }
  void drop(const std::string& name) override {
    std::filesystem::remove(cgroups_.folder("pods") + "/" + name + ".yaml");
  }
  std::string processFolder() override { return "/proc/self"; }

 private:
  const FakeCgroups& cgroups_;
  metrics::Exposition exposition_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<Agent> agent_;
  std::thread thread_;
};

class Executable final : public Subject {
 public:
  Executable() {
    if (!agent_.startAndWait()) throw std::runtime_error(agent_.log());
  }
  void put(const std::string& name, const std::string& text) override { agent_.manifest(name, text); }
  void drop(const std::string& name) override { agent_.removeManifest(name); }
  std::string processFolder() override { return fmt::format("/proc/{}", agent_.pid()); }

 private:
  testing::AgentProcess agent_;
};

// Of all threads, to the nanosecond: ticks are too coarse for what an idle agent uses.
double cpuSeconds(const std::string& folder) {
  double nanoseconds = 0;
  for (const auto& task : std::filesystem::directory_iterator(folder + "/task")) {
    const auto text = readFile(task.path().string() + "/schedstat", 4096);
    if (text) nanoseconds += std::stod(*text);
  }
  return nanoseconds / 1e9;
}

double residentMib(const std::string& folder) {
  const auto text = readFile(folder + "/status", 16384);
  const auto at = text ? text->find("VmRSS:") : std::string::npos;
  return at == std::string::npos ? 0 : std::stod(text->substr(at + 6)) / 1024;
}

// Milliseconds until the file holds `value`; throws after a minute.
double until(const Tree& tree, const std::string& path, const std::string& file, const std::string& value,
             Clock::time_point begin) {
  while (tree.read(path, file) != value) {
    if (Clock::now() - begin > std::chrono::minutes(1))
      throw std::runtime_error(path + "/" + file + " never became " + value);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

class Report {
 public:
  explicit Report(std::string kernel) : kernel_(std::move(kernel)) {}
  void add(const std::string& figure, const std::string& unit, double value, double goal) {
    const bool met = value <= goal;
    fmt::print("{:<46} {:>10.3f} {:<14} goal {:>8.3f}  {}\n", figure, value, unit, goal, met ? "met" : "NOT MET");
    Node row = Node::map();
    row.set("figure", Node::string(figure)).set("kernel", Node::string(kernel_)).set("unit", Node::string(unit));
    row.set("without", Node::null()).set("with", Node::real(value)).set("ratio", Node::null());
    rows_.add(row.set("goal", Node::real(goal)).set("met", Node::boolean(met)));
  }
  void latencies(const std::string& what, const std::vector<double>& values) {
    add(what + ", median", "ms", percentile(values, 0.5), 50);
    add(what + ", p99", "ms", percentile(values, 0.99), 50);
  }
  void save(const std::string& path) const { std::ofstream(path) << document::dumpJson(rows_, 2) << "\n"; }

 private:
  std::string kernel_;
  Node rows_ = Node::list();
};

std::string bytes(int kib) {
  return std::to_string(std::int64_t{kib} * 1024);
}

void measure(Tree& tree, Subject& agent, Report& report) {
  for (int pod = 0; pod < kPods; ++pod) agent.put(fmt::format("pod{}", pod), manifest(pod, 64));
  for (int pod = 0; pod < kPods; ++pod) until(tree, podPath(pod) + "/c2", "memory.min", bytes(64), Clock::now());

  std::this_thread::sleep_for(std::chrono::seconds(2));  // the last looks of the start

  std::vector<double> changed, repaired, created;
  for (int round = 0; round < kRounds; ++round) {
    const int pod = round % kPods;
    const int value = 68 + 4 * round;
    auto begin = Clock::now();
    agent.put(fmt::format("pod{}", pod), manifest(pod, value));
    changed.push_back(until(tree, podPath(pod) + "/c1", "memory.min", bytes(value), begin));

    const int other = (round + kPods / 2) % kPods;
    const std::string before = tree.read(podPath(other), "memory.min");
    begin = Clock::now();
    tree.write(podPath(other), "memory.min", "4096");
    repaired.push_back(until(tree, podPath(other), "memory.min", before, begin));
  }
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = podPath(round % kPods) + "/c0";
    const std::string wanted = tree.read(path, "memory.min");
    tree.remove(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const auto begin = Clock::now();
    tree.make(path);
    created.push_back(until(tree, path, "memory.min", wanted, begin));
  }
  report.latencies("manifest changed -> file written", changed);
  report.latencies("foreign write -> repaired", repaired);
  report.latencies("cgroup created -> programmed", created);
}

double idleShare(Subject& agent) {
  const double before = cpuSeconds(agent.processFolder());
  std::this_thread::sleep_for(std::chrono::seconds(kIdleSeconds));
  return (cpuSeconds(agent.processFolder()) - before) / kIdleSeconds * 100;
}

void runBench(const std::string& mode, const std::string& out) {
  utsname names{};
  ::uname(&names);
  Report report(mode == "fake" ? fmt::format("none (a folder on {})", names.release) : names.release);
  std::unique_ptr<Tree> tree;
  auto* fake = new FakeCgroups();  // NOLINT(cppcoreguidelines-owning-memory): owned by `tree` in fake mode
  const std::unique_ptr<FakeCgroups> owner(fake);
  RealCgroups real;
  Tree& cgroups = mode == "fake" ? static_cast<Tree&>(*fake) : real;
  cgroups.make("kubepods.slice");
  cgroups.make("kubepods.slice/kubepods-burstable.slice");
  for (int pod = 0; pod < 2 * kPods; ++pod) {
    cgroups.make(podPath(pod));
    for (int i = 0; i < kContainers; ++i) cgroups.make(fmt::format("{}/c{}", podPath(pod), i));
  }
  std::unique_ptr<Subject> agent;
  if (mode == "fake") {
    agent = std::make_unique<InProcess>(*fake);
  } else {
    agent = std::make_unique<Executable>();
  }
  measure(cgroups, *agent, report);
  if (mode != "fake") report.add("VmRSS of the agent, 110 pods", "MiB", residentMib(agent->processFolder()), 20);
  const double managed = idleShare(*agent);
  report.add("CPU at idle, 1000 managed cgroups", "% of a core", managed * 1000 / (kPods * kContainers), 0.5);
  // As many pods again that ask for nothing: what they add is what an unmanaged pod costs.
  for (int pod = kPods; pod < 2 * kPods; ++pod) agent->put(fmt::format("pod{}", pod), manifest(pod, 0, false));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  report.add("CPU at idle, added by 110 unmanaged pods", "% of a core", std::max(0.0, idleShare(*agent) - managed),
             0.1);
  report.save(out);
}

}  // namespace
}  // namespace memqos::node

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc != 3 || (mode != "fake" && mode != "real")) {
    fmt::print(stderr, "usage: apply_bench fake|real OUT.json\n");
    return 1;
  }
  try {
    memqos::node::runBench(mode, argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "apply_bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
