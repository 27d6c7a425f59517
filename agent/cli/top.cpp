#include "report/top.h"

#include <ostream>

#include "cli/agent.h"
#include "cli/commands.h"

namespace memqos::cli {

int top(const TopFlags& flags, Context& context) {
  const bool watch = context.streams.terminal && !flags.once && flags.output == Output::table;
  while (true) {
    const auto body = ask(context, flags.runDir, "GET", "/top");
    if (!body) return complain(context, body.error().status, body.error().sentence);
    if (watch) context.streams.out << "\x1b[H\x1b[2J";  // ECMA-48: cursor home, erase the display
    const int status = print(context, flags.output, *body, [&] { return report::topText(*body); });
    if (!watch || status != kOk || !context.world.pause()) return status;
  }
}

}  // namespace memqos::cli
