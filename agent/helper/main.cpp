// memqos-helper: what the agent needs done by a process of its own. Static and without libraries, so that it stays
// small.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include "helper/watchdog.h"

namespace {

int usage() {
  constexpr std::string_view kText = "usage: memqos-helper watchdog --socket-fd N --lock-fd N [--root-procs-fd N]\n";
  return ::write(STDERR_FILENO, kText.data(), kText.size()) < 0 ? 2 : 1;
}

// -1: not a descriptor's number.
int descriptor(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *text == '\0' || *end != '\0' || value < 3 || value > 1023 ? -1 : static_cast<int>(value);
}

int watchdog(int count, char** arguments) {
  memqos::helper::WatchdogOptions options;
  for (int i = 0; i < count; i += 2) {
    const std::string_view flag = arguments[i];
    int* target = flag == "--socket-fd"       ? &options.socket
                  : flag == "--lock-fd"       ? &options.lock
                  : flag == "--root-procs-fd" ? &options.rootProcs
                                              : nullptr;
    if (target == nullptr || i + 1 == count) return usage();
    *target = descriptor(arguments[i + 1]);
    if (*target < 0) return usage();
  }
  return options.socket < 0 ? usage() : memqos::helper::runWatchdog(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == "watchdog") return watchdog(argc - 2, argv + 2);
  return usage();
}
