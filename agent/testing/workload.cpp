#include "testing/workload.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <vector>

namespace memqos::testing {

struct Workload::Task {
  enum class Kind { pageCache, anonymous, hot, stream, streamHoles, allocate };
  Kind kind;
  Bytes size;
  Bytes step{};
  std::chrono::milliseconds pause{};
  int passes = 0;
};

namespace {

[[noreturn]] void giveUp(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// From here to runTask: in the child of a process that may have threads, so plain system calls only.
constexpr std::size_t kChunk = 64UL * 1024;
char chunk[kChunk];

[[noreturn]] void sleepForever() {
  while (true) ::pause();
}

bool readWhole(int fd) {
  if (::lseek(fd, 0, SEEK_SET) != 0) return false;
  ssize_t got = 0;
  do {
    got = ::read(fd, chunk, kChunk);
  } while (got > 0);
  return got == 0;
}

// Written back as it goes: 7.3 kills who writes while all of a small limit is dirty.
bool fillFile(int fd, std::int64_t size) {
  for (std::int64_t done = 0; done < size; done += static_cast<std::int64_t>(kChunk)) {
    if (done % kMiB.count == 0 && ::fdatasync(fd) != 0) return false;
    if (::write(fd, chunk, kChunk) != static_cast<ssize_t>(kChunk)) return false;
  }
  return ::fsync(fd) == 0;
}

void touchAgain(volatile char* bytes, std::int64_t size) {
  for (std::int64_t at = 0; at < size; at += kPage.count) bytes[at] = 1;
}

// Null: there is no memory.
volatile char* touch(std::int64_t size) {
  void* memory =
      ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* bytes = static_cast<volatile char*>(memory);
  touchAgain(bytes, size);
  return bytes;
}

template <typename Task>
[[noreturn]] void runTask(const Task& task, const char* file, int procs, int ready) {
  using Kind = decltype(task.kind);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::write(procs, "0", 1) != 1) ::_exit(2);
  const auto tell = [&] {
    if (::write(ready, "r", 1) != 1) ::_exit(3);
  };
  if (task.kind == Kind::allocate) {
    tell();
    timespec pause{};
    pause.tv_sec = task.pause.count() / 1000;
    pause.tv_nsec = task.pause.count() % 1000 * 1'000'000;
    for (std::int64_t done = 0; done < task.size.count; done += task.step.count) {
      if (touch(task.step.count) == nullptr) ::_exit(4);
      ::nanosleep(&pause, nullptr);
    }
    sleepForever();
  }
  if (task.kind == Kind::anonymous || task.kind == Kind::hot) {
    volatile char* bytes = touch(task.size.count);
    if (bytes == nullptr) ::_exit(4);
    tell();
    while (task.kind == Kind::hot) {
      const timespec rest{0, 10'000'000};
      ::nanosleep(&rest, nullptr);
      touchAgain(bytes, task.size.count);
    }
    sleepForever();
  }
  const int fd = ::open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (task.kind == Kind::streamHoles) {
    if (fd < 0 || ::ftruncate(fd, task.size.count) != 0) ::_exit(5);
    for (int pass = 0; pass < task.passes; ++pass) {
      if (!readWhole(fd)) ::_exit(6);
    }
    tell();
    sleepForever();
  }
  if (fd < 0 || !fillFile(fd, task.size.count) || !readWhole(fd)) ::_exit(5);
  tell();
  while (task.kind == Kind::stream) {
    if (!readWhole(fd)) ::_exit(6);
  }
  sleepForever();
}

}  // namespace

std::string scratchFolder() {
  if (const char* set = std::getenv("MEMQOS_SCRATCH")) return set;
  return ::access("/scratch", W_OK) == 0 ? "/scratch" : "/tmp";
}

Workload Workload::pageCache(const ScopedCgroup& cgroup, Bytes size) {
  return {cgroup, Task{Task::Kind::pageCache, size}};
}
Workload Workload::anonymous(const ScopedCgroup& cgroup, Bytes size) {
  return {cgroup, Task{Task::Kind::anonymous, size}};
}
Workload Workload::hot(const ScopedCgroup& cgroup, Bytes size) {
  return {cgroup, Task{Task::Kind::hot, size}};
}
Workload Workload::stream(const ScopedCgroup& cgroup, Bytes size) {
  return {cgroup, Task{Task::Kind::stream, size}};
}
Workload Workload::streamHoles(const ScopedCgroup& cgroup, Bytes size, int passes) {
  return {cgroup, Task{Task::Kind::streamHoles, size, {}, {}, passes}};
}
Workload Workload::allocate(const ScopedCgroup& cgroup, Bytes step, Bytes most, std::chrono::milliseconds pause) {
  return {cgroup, Task{Task::Kind::allocate, most, step, pause}};
}

Workload::Workload(const ScopedCgroup& cgroup, Task task) {
  std::string name = scratchFolder() + "/memqos-workload-XXXXXX";
  const Fd made(::mkstemp(name.data()));
  if (!made) giveUp("a file in the scratch folder");
  file_ = name;
  const Fd procs(::open(cgroup.file("cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  int ends[2];
  if (!procs || ::pipe2(ends, O_CLOEXEC) != 0) giveUp("cgroup.procs or a pipe");
  ready_ = Fd(ends[0]);
  const Fd writing(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) runTask(task, file_.c_str(), procs.get(), writing.get());
  if (pid_ < 0) giveUp("fork");
}

Workload::Workload(Workload&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ready_(std::move(other.ready_)), file_(std::exchange(other.file_, {})) {}

Workload::~Workload() {
  stop();
  if (!file_.empty()) ::unlink(file_.c_str());
}

bool Workload::waitReady() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(ready_.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

void Workload::pause() const {
  ::kill(pid_, SIGSTOP);
}
void Workload::resume() const {
  ::kill(pid_, SIGCONT);
}

void Workload::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

bool Workload::running() {
  if (pid_ <= 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) != pid_) return true;
  pid_ = -1;
  return false;
}

Bytes Workload::cached() const {
  const Fd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) giveUp("mmap");
  std::vector<unsigned char> pages(size / static_cast<std::size_t>(kPage.count) + 1);
  const int status = ::mincore(memory, size, pages.data());
  ::munmap(memory, size);
  if (status != 0) giveUp("mincore");
  const auto here = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; });
  return {here * kPage.count};
}

}  // namespace memqos::testing
