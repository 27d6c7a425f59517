#include "report/probe.h"

#include "cli/commands.h"

namespace memqos::cli {

int probe(const ProbeFlags& flags, Context& context) {
  const auto found = context.world.probe();
  if (!found) return complain(context, kNodeLacks, found.error().text());
  const document::Node body = report::probeBody(*found);
  return print(context, flags.output, body, [&] { return report::probeText(body); });
}

}  // namespace memqos::cli
