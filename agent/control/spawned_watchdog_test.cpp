#include "control/spawned_watchdog.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cgroup/cgroup.h"

namespace memqos::control {
namespace {

using namespace std::chrono_literals;
using cgroup::File;

// A folder plays the cgroup, and the helper is the real one.
class SpawnedWatchdogTest : public testing::Test {
 protected:
  SpawnedWatchdogTest() {
    char folder[] = "/tmp/memqos-watchdog-XXXXXX";
    EXPECT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    write("lock", "");
    write("root.procs", "");
    write("memory.high", "max\n");
    cgroup_ = std::make_unique<cgroup::Cgroup>("pod", Fd(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 42);
  }
  ~SpawnedWatchdogTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* file) const { return folder_ + "/" + file; }
  void write(const char* file, const char* text) const { std::ofstream(path(file)) << text; }
  [[nodiscard]] std::string read(const char* file) const {
    std::stringstream all;
    all << std::ifstream(path(file)).rdbuf();
    return all.str();
  }
  [[nodiscard]] Fd lockFile() const { return Fd(::open(path("lock").c_str(), O_RDWR | O_CLOEXEC)); }

  // Takes the lock as the agent does, and leaves it to the watchdog alone.
  [[nodiscard]] std::unique_ptr<SpawnedWatchdog> spawn() const {
    const Fd lock = lockFile();
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const Fd procs(::open(path("root.procs").c_str(), O_WRONLY | O_CLOEXEC));
    auto spawned = SpawnedWatchdog::spawn({MEMQOS_HELPER_PATH, lock.get(), procs.get()});
    EXPECT_TRUE(spawned) << spawned.error().text();
    return spawned ? std::move(*spawned) : nullptr;
  }
  // Returns once every watchdog of this folder has ended.
  void waitForTheEnd() const { EXPECT_EQ(::flock(lockFile().get(), LOCK_EX), 0); }

  std::string folder_;
  std::unique_ptr<cgroup::Cgroup> cgroup_;
};

TEST_F(SpawnedWatchdogTest, JoinsTheRootCgroupAndKeepsTheLock) {
  auto watchdog = spawn();
  ASSERT_TRUE(watchdog);
  EXPECT_EQ(read("root.procs"), "0");
  EXPECT_TRUE(watchdog->joinedRoot());
  EXPECT_TRUE(watchdog->available());
  EXPECT_EQ(::flock(lockFile().get(), LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  watchdog.reset();
  waitForTheEnd();
}

TEST_F(SpawnedWatchdogTest, HoldsNothingOfTheAgentsOpen) {
  const Fd leak(::open("/dev/zero", O_RDONLY));  // NOLINT: without CLOEXEC, as a careless library does it
  const auto watchdog = spawn();
  ASSERT_TRUE(watchdog);
  std::vector<std::string> open;
  const std::filesystem::path fds = "/proc/" + std::to_string(watchdog->pid()) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(fds)) {
    const std::string target = std::filesystem::read_symlink(entry).string();
    open.push_back(entry.path().filename().string() + " " + target.substr(0, target.find(':')));
  }
  EXPECT_THAT(open, testing::UnorderedElementsAre("0 /dev/null", "1 /dev/null", "2 /dev/null", "3 socket",
                                                  "4 " + path("lock")));
}

TEST_F(SpawnedWatchdogTest, WithoutTheRootCgroupItIsNotAvailable) {
  auto spawned = SpawnedWatchdog::spawn({.helper = MEMQOS_HELPER_PATH});
  ASSERT_TRUE(spawned) << spawned.error().text();
  EXPECT_TRUE((*spawned)->alive());
  EXPECT_FALSE((*spawned)->joinedRoot());
  EXPECT_FALSE((*spawned)->available());
  EXPECT_TRUE((*spawned)->finish(1min));
}

TEST_F(SpawnedWatchdogTest, PutsOurValueBackWhenTheAgentLetsGo) {
  auto watchdog = spawn();
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max()));
  write("memory.high", "67108864\n");
  EXPECT_TRUE(watchdog->finish(1min));
  EXPECT_EQ(read("memory.high"), "max");
}

TEST_F(SpawnedWatchdogTest, TheValueBeforeIsOursTooAnOlderOneIsNot) {
  auto watchdog = spawn();
  write("memory.low", "0\n");
  for (const int size : {64, 32, 16}) {
    ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(size), Limit::max()));
    ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryLow, mebibytes(size), Bytes{0}));
  }
  write("memory.high", "33554432\n");  // 32 MiB: the write of 16 MiB did not happen
  write("memory.low", "67108864\n");   // 64 MiB: somebody else's
  EXPECT_TRUE(watchdog->finish(1min));
  EXPECT_EQ(read("memory.high"), "max");
  EXPECT_EQ(read("memory.low"), "67108864\n");
}

TEST_F(SpawnedWatchdogTest, LeavesForeignAndReleasedValues) {
  auto watchdog = spawn();
  write("memory.low", "67108864\n");
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max()));
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryLow, mebibytes(64), Bytes{0}));
  write("memory.high", "4096\n");
  watchdog->release(*cgroup_, File::memoryLow);
  EXPECT_TRUE(watchdog->finish(1min));
  EXPECT_EQ(read("memory.high"), "4096\n");
  EXPECT_EQ(read("memory.low"), "67108864\n");
}

TEST_F(SpawnedWatchdogTest, UndoesATemporaryValueWhileTheAgentLives) {
  const auto watchdog = spawn();
  write("memory.high", "67108864\n");
  const auto past = std::chrono::steady_clock::now() - 1s;
  ASSERT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), mebibytes(128), past));
  while (read("memory.high") != "134217728") std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(watchdog->alive());
}

TEST_F(SpawnedWatchdogTest, IgnoresSignalsThatEndAnAgent) {
  const auto watchdog = spawn();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ASSERT_EQ(::kill(watchdog->pid(), signal), 0);
  EXPECT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max()));
  EXPECT_TRUE(watchdog->alive());
}

TEST_F(SpawnedWatchdogTest, ItsDeathIsNoticed) {
  const auto watchdog = spawn();
  ASSERT_EQ(::kill(watchdog->pid(), SIGKILL), 0);
  waitForTheEnd();
  while (watchdog->alive()) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(watchdog->available());
  const auto held = watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::gone);
  watchdog->release(*cgroup_, File::memoryHigh);
}

TEST_F(SpawnedWatchdogTest, AWatchdogThatDoesNotAnswerIsATimeout) {
  const auto watchdog = spawn();
  ASSERT_EQ(::kill(watchdog->pid(), SIGSTOP), 0);
  const auto held = watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max());
  ASSERT_EQ(::kill(watchdog->pid(), SIGCONT), 0);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::timeout);
  // The late answer is not taken for the next one.
  EXPECT_TRUE(watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(32), Limit::max()));
  write("memory.high", "33554432\n");
  EXPECT_TRUE(watchdog->finish(1min));
  EXPECT_EQ(read("memory.high"), "max");
}

TEST_F(SpawnedWatchdogTest, AMissingFileOrProgramIsAnError) {
  const auto watchdog = spawn();
  const auto held = watchdog->hold(*cgroup_, File::oomGroup, Bytes{1}, Bytes{0});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::gone);
  const auto missing = SpawnedWatchdog::spawn({.helper = path("no-helper")});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().path, path("no-helper"));
  const auto other = SpawnedWatchdog::spawn({.helper = "/bin/true"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::gone);
}

TEST_F(SpawnedWatchdogTest, SurvivesKillMinusNineOfTheAgent) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t agent = ::fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    const auto watchdog = spawn();
    const bool held = watchdog && watchdog->hold(*cgroup_, File::memoryHigh, mebibytes(64), Limit::max());
    write("memory.high", "67108864\n");
    if (held && ::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  EXPECT_EQ(read("memory.high"), "67108864\n");
  ASSERT_EQ(::kill(agent, SIGKILL), 0);
  ASSERT_EQ(::waitpid(agent, nullptr, 0), agent);
  waitForTheEnd();
  EXPECT_EQ(read("memory.high"), "max");
}

TEST(NoWatchdog, HoldsNothing) {
  NoWatchdog none;
  const cgroup::Cgroup cgroup("pod", Fd(), 1);
  const auto held = none.hold(cgroup, File::memoryHigh, Bytes{1}, Limit::max());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::unsupported);
  EXPECT_FALSE(none.available());
}

}  // namespace
}  // namespace memqos::control
