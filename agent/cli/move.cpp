#include "cli/commands.h"

namespace memqos::cli {

int move(const MoveFlags& flags, Context& context) {
  if (flags.output != Output::table) {
    document::Node body = document::Node::map();
    body.set("moves", document::Node::list());
    print(context, flags.output, body, [] { return std::string(); });
  }
  return complain(context, kNodeLacks, "charge migration is not available in this version");
}

}  // namespace memqos::cli
