#include "testing/agent_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.h"

namespace memqos::testing {
namespace {

std::string slurp(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

[[noreturn]] void execute(const std::vector<std::string>& command, const std::string& out, const std::string& err) {
  const int outFd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int errFd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  ::dup2(outFd, 1);
  ::dup2(errFd, 2);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execv's old type
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

int statusOf(int waited) {
  return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

pid_t spawn(const std::vector<std::string>& command, const std::string& out, const std::string& err,
            const std::function<void()>& beforehand) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (beforehand) beforehand();
  execute(command, out, err);
}

std::string binary(const std::string& name) {
  const char* folder = std::getenv("MEMQOS_BIN_DIR");  // NOLINT(concurrency-mt-unsafe): set by the guest
  return fmt::format("{}/{}", folder == nullptr ? "/opt/memqos/bin" : folder, name);
}

CommandResult runCommand(const std::vector<std::string>& command) {
  std::string pattern = "/tmp/commandXXXXXX";
  const std::string folder = ::mkdtemp(pattern.data());
  const pid_t child = spawn(command, folder + "/out", folder + "/err");
  int waited = 0;
  ::waitpid(child, &waited, 0);
  CommandResult result{statusOf(waited), slurp(folder + "/out"), slurp(folder + "/err")};
  std::filesystem::remove_all(folder);
  return result;
}

AgentProcess::AgentProcess(Options options) : options_(std::move(options)) {
  std::string pattern = "/tmp/agentXXXXXX";
  folder_ = ::mkdtemp(pattern.data());
  for (const char* name : {"pods", "config", "run"}) std::filesystem::create_directory(folder_ + "/" + name);
  if (!options_.config.empty()) std::ofstream(folder_ + "/config/memqos.yaml") << options_.config;
}

AgentProcess::~AgentProcess() {
  if (pid_ > 0) kill();
  waitForWatchdog();
  [[maybe_unused]] const CommandResult restored = cli({"restore"});
  std::filesystem::remove_all(folder_);
}

void AgentProcess::manifest(const std::string& name, const std::string& yaml) const {
  std::ofstream(folder_ + "/" + name + ".new") << yaml;
  std::filesystem::rename(folder_ + "/" + name + ".new", folder_ + "/pods/" + name + ".yaml");
}

void AgentProcess::removeManifest(const std::string& name) const {
  std::filesystem::remove(folder_ + "/pods/" + name + ".yaml");
}

void AgentProcess::pod(const std::string& name, const std::string& cgroup,
                       const std::vector<std::pair<std::string, std::string>>& annotations,
                       const std::string& resources) const {
  std::string yaml = fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n  annotations:\n    memqos.io/cgroup: \"{}\"\n", name, cgroup);
  for (const auto& [key, value] : annotations) yaml += fmt::format("    {}: \"{}\"\n", key, value);
  manifest(name,
           yaml + fmt::format("spec:\n  containers:\n  - name: main\n    image: none\n    resources: {}\n", resources));
}

std::vector<std::string> AgentProcess::command() const {
  const bool cluster = !options_.kubeconfig.empty();
  std::vector<std::string> out = {binary("memqos-agent"),
                                  "run",
                                  cluster ? "--kubeconfig" : "--pods",
                                  cluster ? options_.kubeconfig : folder_ + "/pods",
                                  "--config",
                                  folder_ + "/config",
                                  "--run-dir",
                                  folder_ + "/run",
                                  "--listen",
                                  "127.0.0.1:0",
                                  "--log-level",
                                  "debug"};
  out.insert(out.end(), options_.arguments.begin(), options_.arguments.end());
  return out;
}

void AgentProcess::start() {
  pid_ = spawn(command(), folder_ + "/agent.log", folder_ + "/agent.log");
}

bool AgentProcess::waitReady() const {
  bool ended = false;
  const bool ready = waitUntil([&] {
    siginfo_t info{};
    ended = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid_;
    return ended || cli({"top", "--once"}).status == 0;
  });
  return ready && !ended;
}

int AgentProcess::signal(int number) {
  if (pid_ <= 0) return status_;
  ::kill(pid_, number);
  int waited = 0;
  ::waitpid(pid_, &waited, 0);
  pid_ = -1;
  return status_ = statusOf(waited);
}

bool AgentProcess::running() {
  if (pid_ <= 0) return false;
  int waited = 0;
  if (::waitpid(pid_, &waited, WNOHANG) != pid_) return true;
  pid_ = -1;
  status_ = statusOf(waited);
  return false;
}

bool AgentProcess::waitForWatchdog() const {
  const Fd lock(::open((folder_ + "/run/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock) return true;
  return waitUntil([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0; });
}

CommandResult AgentProcess::cli(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), binary("memqos-agent"));
  arguments.insert(arguments.end(), {"--run-dir", folder_ + "/run"});
  return runCommand(arguments);
}

std::string AgentProcess::log() const {
  return slurp(folder_ + "/agent.log");
}

}  // namespace memqos::testing
