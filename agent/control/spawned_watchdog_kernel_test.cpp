#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "cgroup/cgroup.h"
#include "control/spawned_watchdog.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;
using cgroup::File;

constexpr const char* kRoot = "/sys/fs/cgroup";

// Two real cgroups: `agent` holds the agent (and its container's end kills it), `pod` is programmed.
class WatchdogKernelTest : public testing::Test {
 protected:
  WatchdogKernelTest() {
    EXPECT_TRUE(make(pod_) && make(agent_));
    struct stat status {};
    EXPECT_EQ(::stat(pod_.c_str(), &status), 0);
    cgroup_ = std::make_unique<cgroup::Cgroup>(
        "watchdog-pod", Fd(::open(pod_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), status.st_ino);
    std::ofstream(lock_.c_str());
  }
  ~WatchdogKernelTest() override {
    cgroup_.reset();
    ::rmdir(pod_.c_str());
    ::rmdir(agent_.c_str());
    ::unlink(lock_.c_str());
  }

  static bool make(const std::string& path) { return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST; }
  static std::string read(const std::string& path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void write(const char* file, const std::string& text) const {
    std::ofstream stream(pod_ + "/" + file);
    stream << text;
    EXPECT_TRUE(stream.flush());
  }
  [[nodiscard]] std::string value(const char* file) const { return read(pod_ + "/" + file); }
  [[nodiscard]] Fd lockFile() const { return Fd(::open(lock_.c_str(), O_RDWR | O_CLOEXEC)); }
  [[nodiscard]] std::unique_ptr<SpawnedWatchdog> spawn() const {
    const Fd lock = lockFile();
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const Fd procs(::open((std::string(kRoot) + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    auto spawned = SpawnedWatchdog::spawn({helperBesideAgent(), lock.get(), procs.get()});
    EXPECT_TRUE(spawned) << spawned.error().text();
    return spawned ? std::move(*spawned) : nullptr;
  }
  void waitForTheEnd() const { EXPECT_EQ(::flock(lockFile().get(), LOCK_EX), 0); }

  std::string pod_ = std::string(kRoot) + "/watchdog-pod";
  std::string agent_ = std::string(kRoot) + "/watchdog-agent";
  std::string lock_ = "/tmp/watchdog.lock";
  std::unique_ptr<cgroup::Cgroup> cgroup_;
};

TEST_F(WatchdogKernelTest, IsLockedSparedAndSmall) {
  auto watchdog = spawn();
  ASSERT_TRUE(watchdog);
  EXPECT_TRUE(watchdog->locked());
  EXPECT_TRUE(watchdog->oomSpared());
  EXPECT_TRUE(watchdog->available());
  const std::string status = read("/proc/" + std::to_string(watchdog->pid()) + "/status");
  const auto found = status.find("VmRSS:");
  ASSERT_NE(found, std::string::npos);
  EXPECT_LT(std::stol(status.substr(found + 6)), 4096) << "KiB; the table must not be resident";
  EXPECT_TRUE(watchdog->finish(1min));
}

TEST_F(WatchdogKernelTest, OutlivesTheAgentsCgroupAndPutsEverythingBack) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t agent = ::fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    std::ofstream(agent_ + "/cgroup.procs") << "0" << std::flush;
    const auto watchdog = spawn();
    bool held = watchdog != nullptr;
    held = held && watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max()).has_value();
    held =
        held && watchdog->hold(*cgroup_, File::memoryLow, Bytes{10'000'000}, Bytes{0}).has_value();  // not whole pages
    held = held && watchdog->hold(*cgroup_, File::swapMax, mebibytes(1), mebibytes(7)).has_value();
    write("memory.high", "67108864");
    write("memory.low", "10000000");
    write("memory.swap.max", "2097152");  // somebody else's
    if (held && ::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  EXPECT_EQ(value("memory.high"), "67108864\n");
  EXPECT_EQ(value("memory.low"), "9998336\n");
  EXPECT_EQ(read(agent_ + "/cgroup.procs"), std::to_string(agent) + "\n") << "the watchdog is not in there";
  // As a container runtime ends a container; 6.1 has it too (5.14).
  std::ofstream(agent_ + "/cgroup.kill") << "1" << std::flush;
  ASSERT_EQ(::waitpid(agent, nullptr, 0), agent);
  waitForTheEnd();
  EXPECT_EQ(value("memory.high"), "max\n");
  EXPECT_EQ(value("memory.low"), "0\n");
  EXPECT_EQ(value("memory.swap.max"), "2097152\n");
}

TEST_F(WatchdogKernelTest, UndoesInTimeAndForgetsARemovedCgroup) {
  auto watchdog = spawn();
  ASSERT_TRUE(watchdog);
  write("memory.high", "67108864");
  const auto past = std::chrono::steady_clock::now() - 1s;
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), mebibytes(128), past));
  while (value("memory.high") != "134217728\n") std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max()));
  ASSERT_EQ(::rmdir(pod_.c_str()), 0) << "a held descriptor must not keep the cgroup";
  const auto held = watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::gone);
  EXPECT_TRUE(watchdog->finish(1min)) << "ENODEV is no reason to try again";
}

}  // namespace
}  // namespace memqos::control
