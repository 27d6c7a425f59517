// /proc/PID/mountinfo: a user who can mount chooses sources and mount points.
#include "proc/mountinfo.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  auto text = testing::textOf(data, size);
  const auto table = proc::parseMountinfo(text);
  std::size_t lines = 0;
  while (!text.empty()) lines += testing::takeUntil(text, '\n').empty() ? 0U : 1U;
  require(table.mounts.size() + static_cast<std::size_t>(table.malformed) == lines, "each line is read or counted");
  for (const proc::Mount& mount : table.mounts) {
    require(mount.point.starts_with('/') && !mount.type.empty(), "a mount has a point and a type");
    for (const std::string& option : mount.superOptions) require(mount.hasSuperOption(option), "options are found");
  }
  return 0;
}
