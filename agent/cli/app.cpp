#include "cli/app.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>

#include "base/version.h"
#include "cli/commands.h"

namespace memqos::cli {
namespace {

void addOutput(CLI::App& command, Output& output) {
  static const std::map<std::string, Output> kOutputs = {
      {"table", Output::table}, {"json", Output::json}, {"yaml", Output::yaml}};
  command.add_option("-o,--output", output, "table (for people), json or yaml (for scripts)")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(kOutputs).description(""))
      ->default_str("table");
}

void addRunDir(CLI::App& command, std::string& runDir) {
  command.add_option("--run-dir", runDir, "Folder of the socket, the lock and the journal")
      ->type_name("DIR")
      ->capture_default_str();
}

void addConfig(CLI::App& command, std::optional<std::string>& config) {
  command
      .add_option("--config", config,
                  fmt::format("Folder of the configuration (default: {}, if it is there)", kDefaultConfigDir))
      ->type_name("DIR");
}

void addAllocatable(CLI::App& command, std::optional<std::string>& allocatable) {
  command
      .add_option(
          "--allocatable", allocatable,
          "Memory of the node that a container without a limit is measured against, such as 16Gi (default: not known)")
      ->type_name("QUANTITY");
}

// All flags of all subcommands, and which one was chosen.
struct Parsed {
  RunFlags run;
  ProbeFlags probe;
  CheckFlags check;
  ExplainFlags explain;
  TopFlags top;
  MoveFlags move;
  RestoreFlags restore;
  std::function<int(Context&)> chosen;
};

template <typename Flags>
CLI::App& add(CLI::App& app, Parsed& parsed, const char* name, const char* summary, const Flags& flags,
              int (*command)(const Flags&, Context&)) {
  CLI::App& sub = *app.add_subcommand(name, summary);
  sub.callback(
      [&parsed, &flags, command] { parsed.chosen = [&flags, command](Context& c) { return command(flags, c); }; });
  return sub;
}

void addRun(CLI::App& app, Parsed& parsed) {
  RunFlags& flags = parsed.run;
  CLI::App& sub =
      add(app, parsed, "run", "Run the agent: program the cgroups of pods and keep them right", flags, &run);
  sub.add_option("--pods", flags.pods, "Folder of pod manifests: run without a cluster")->type_name("DIR");
  sub.add_option("--kubeconfig", flags.kubeconfig, "Access to the cluster (default: as a pod has it)")
      ->type_name("FILE");
  sub.add_option("--node-name", flags.nodeName, "Name of this node (default: $NODE_NAME, else the host name)")
      ->type_name("NAME");
  sub.add_option("--listen", flags.listen, "Address of /metrics, /healthz and /readyz (default: the configuration's)")
      ->type_name("ADDRESS:PORT");
  addRunDir(sub, flags.runDir);
  addConfig(sub, flags.config);
  sub.add_option("--log-format", flags.logFormat, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  sub.add_option("--log-level", flags.logLevel, "debug, info, warning or error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}).description(""))
      ->capture_default_str();
}

void addOthers(CLI::App& app, Parsed& parsed) {
  addOutput(add(app, parsed, "probe", "Say what this node can do", parsed.probe, &probe), parsed.probe.output);

  CLI::App& checkCommand =
      add(app, parsed, "check", "Validate manifests, without a node or a cluster", parsed.check, &check);
  checkCommand.add_option("FILE", parsed.check.files, "Manifests in YAML or JSON; - is standard input")
      ->type_name("")
      ->required();
  addConfig(checkCommand, parsed.check.config);
  addAllocatable(checkCommand, parsed.check.allocatable);
  addOutput(checkCommand, parsed.check.output);

  CLI::App& explainCommand =
      add(app, parsed, "explain", "Show every value of a pod: where it comes from and whether it holds", parsed.explain,
          &explain);
  explainCommand
      .add_option("POD|FILE", parsed.explain.target,
                  "NAMESPACE/NAME of a pod on this node, or a manifest (*.yaml, *.yml, *.json, - is standard input)")
      ->type_name("")
      ->required();
  addConfig(explainCommand, parsed.explain.config);
  addAllocatable(explainCommand, parsed.explain.allocatable);
  addRunDir(explainCommand, parsed.explain.runDir);
  explainCommand.add_flag("--all", parsed.explain.all, "In the table, also the knobs that nobody asks for");
  addOutput(explainCommand, parsed.explain.output);

  CLI::App& topCommand =
      add(app, parsed, "top", "Show what the containers use, again and again on a terminal", parsed.top, &top);
  topCommand.add_flag("--once", parsed.top.once, "Print once and exit");
  addRunDir(topCommand, parsed.top.runDir);
  addOutput(topCommand, parsed.top.output);

  CLI::App& moveCommand = add(
      app, parsed, "move", "Move memory charges between cgroups (not available in this version)", parsed.move, &move);
  addOutput(moveCommand, parsed.move.output);
  moveCommand.allow_extras();

  CLI::App& restoreCommand =
      add(app, parsed, "restore", "Put every file back to what it was before memqos", parsed.restore, &restore);
  addRunDir(restoreCommand, parsed.restore.runDir);
  addOutput(restoreCommand, parsed.restore.output);
}

}  // namespace

int main(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("memqos gives every pod the memory service that its annotations ask for.", "memqos-agent");
  app.set_version_flag("--version", fmt::format("memqos-agent {}", version()));
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 for what the user did, 2 for what the node lacks.");
  Parsed parsed;
  addRun(app, parsed);
  addOthers(app, parsed);
  std::vector<const char*> argv = {"memqos-agent"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error, context.streams.out, context.streams.err);
    return status == 0 ? kOk : kUserError;
  }
  return parsed.chosen(context);
}

int main(int argc, const char* const* argv) {
  Context context{.streams = {std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) == 1}, .world = realWorld()};
  return main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), context);
}

}  // namespace memqos::cli
