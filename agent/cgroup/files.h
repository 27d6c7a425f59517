// The control files that memqos programs.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace memqos::cgroup {

// In the order of the knob table; the value of each is a Limit (flags 0 and 1).
enum class File { memoryMin, memoryLow, memoryHigh, swapMax, swapHigh, zswapMax, zswapWriteback, oomGroup };
inline constexpr std::array kFiles = {File::memoryMin, File::memoryLow, File::memoryHigh,     File::swapMax,
                                      File::swapHigh,  File::zswapMax,  File::zswapWriteback, File::oomGroup};
inline constexpr std::size_t kFileCount = kFiles.size();

// "memory.min", "memory.swap.max", "memory.oom.group", ...
constexpr const char* name(File file) {
  switch (file) {
    case File::memoryMin:
      return "memory.min";
    case File::memoryLow:
      return "memory.low";
    case File::memoryHigh:
      return "memory.high";
    case File::swapMax:
      return "memory.swap.max";
    case File::swapHigh:
      return "memory.swap.high";
    case File::zswapMax:
      return "memory.zswap.max";
    case File::zswapWriteback:
      return "memory.zswap.writeback";
    case File::oomGroup:
      return "memory.oom.group";
  }
  return "";
}
constexpr std::optional<File> findFile(std::string_view text) {
  for (const File file : kFiles) {
    if (text == name(file)) return file;
  }
  return std::nullopt;
}
constexpr bool isFlag(File file) {
  return file == File::oomGroup || file == File::zswapWriteback;
}

}  // namespace memqos::cgroup
