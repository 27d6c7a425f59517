#include "report/restore.h"

#include <fmt/format.h>

#include "cli/agent.h"
#include "cli/commands.h"

namespace memqos::cli {
namespace {

int show(const RestoreFlags& flags, Context& context, const document::Node& body) {
  const std::size_t failures = report::countFailed(body);
  const int status = print(
      context, flags.output, body, [&] { return report::restoreText(body); }, failures > 0 ? kNodeLacks : kOk);
  return failures == 0 ? status
                       : complain(context, status,
                                  fmt::format("{} could not be restored",
                                              failures == 1 ? "1 file" : fmt::format("{} files", failures)));
}

}  // namespace

int restore(const RestoreFlags& flags, Context& context) {
  const auto body = ask(context, flags.runDir, "POST", "/restore");
  if (body) return show(flags, context, *body);
  // Only where nobody listens; an agent that is slow or refuses holds the lock anyway.
  if (!body.error().noAgent) return complain(context, body.error().status, body.error().sentence);
  const auto files = context.world.restoreOffline(flags.runDir);
  if (!files) {
    return complain(context, files.error().code == Code::denied ? kUserError : kNodeLacks, files.error().text());
  }
  return show(flags, context, report::restoreBody(*files));
}

}  // namespace memqos::cli
