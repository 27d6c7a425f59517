// For kernel tests: the real agent, started as a user would start it, on manifests that the test writes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "testing/scoped_cgroup.h"

namespace memqos::testing {

// What a command printed and how it ended.
struct CommandResult {
  int status = -1;  // exit status; 128 + signal if killed
  std::string out;
  std::string err;
};

class AgentProcess {
 public:
  struct Options {
    std::string config;                  // text of the configuration's one file; empty: none
    std::vector<std::string> arguments;  // more flags of `run`
    std::string kubeconfig{};            // in a cluster; empty: with --pods
  };
  // A fresh folder with pods/, config/, run/ and agent.log; nothing runs yet. Executables are taken from
  // $MEMQOS_BIN_DIR.
  explicit AgentProcess(Options options);
  AgentProcess() : AgentProcess(Options{}) {}
  ~AgentProcess();  // restores through the command line, then kills what is left
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  // Writes pods/NAME.yaml atomically, or removes it.
  void manifest(const std::string& name, const std::string& yaml) const;
  void removeManifest(const std::string& name) const;
  // A Pod with one container "main", placed at `cgroup` by its own key. Annotations as `key: value` pairs.
  void pod(const std::string& name, const std::string& cgroup,
           const std::vector<std::pair<std::string, std::string>>& annotations,
           const std::string& resources = "{}") const;

  void start();  // returns at once
  bool waitReady()
      const;  // /readyz says yes (the first plan is handed over); false: the agent ended, or a minute passed
  bool startAndWait() { return start(), waitReady(); }
  // The command line to start it with, for a test that must start it itself (under ptrace).
  [[nodiscard]] std::vector<std::string> command() const;
  void adopt(pid_t pid) { pid_ = pid; }  // started by the test
  int signal(int number);                // sends it and waits for the end; the exit status, or 128 + signal
  void kill() { signal(9); }
  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits until no watchdog of this run directory is left: its lock is free.
  bool waitForWatchdog() const;
  // memqos-agent ARGUMENTS... --run-dir of this agent; e.g. {"explain", "default/a", "--output", "json"}
  [[nodiscard]] CommandResult cli(std::vector<std::string> arguments) const;
  [[nodiscard]] std::string log() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  Options options_;
  std::string folder_;
  pid_t pid_ = -1;
  int status_ = -1;
};

// Path of an executable of this build inside the guest.
std::string binary(const std::string& name);
CommandResult runCommand(const std::vector<std::string>& command);
// Starts it with its output appended to files; `beforehand` runs in the child just before the program takes over.
pid_t spawn(const std::vector<std::string>& command, const std::string& out, const std::string& err,
            const std::function<void()>& beforehand = {});
// The exit status of what waitpid() told, or 128 + signal.
int statusOf(int waited);

}  // namespace memqos::testing
