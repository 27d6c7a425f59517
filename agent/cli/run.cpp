#include "base/log.h"
#include "cli/commands.h"

namespace memqos::cli {
namespace {

log::Level levelOf(const std::string& word) {
  if (word == "debug") return log::Level::debug;
  if (word == "warning") return log::Level::warning;
  return word == "error" ? log::Level::error : log::Level::info;
}

}  // namespace

int run(const RunFlags& flags, Context& context) {
  if (!flags.kubeconfig.empty() && !flags.pods.empty()) {
    return complain(context, kUserError,
                    "--kubeconfig and --pods: pods come from a cluster or from a folder, not both");
  }
  log::configure(levelOf(flags.logLevel), flags.logFormat == "json" ? log::Format::json : log::Format::text);
  return context.world.run(flags);
}

}  // namespace memqos::cli
