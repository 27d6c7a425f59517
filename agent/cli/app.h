// argv -> subcommand.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace memqos::cli {

// `arguments` without the program's name. Returns the exit status.
int main(const std::vector<std::string>& arguments, Context& context);
// The same on the process's own streams and node.
int main(int argc, const char* const* argv);

}  // namespace memqos::cli
