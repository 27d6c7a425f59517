#include "metrics/process.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"

namespace memqos::metrics {
namespace {

constexpr std::size_t kStatCap = 4096;
constexpr std::size_t kSystemStatCap = std::size_t{4} * 1024 * 1024;  // a line per CPU, and one of all interrupts

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto start = text.find_first_not_of(" \n");
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const auto end = text.find_first_of(" \n");
    words.push_back(text.substr(0, end));
    text.remove_prefix(words.back().size());
  }
}

std::int64_t number(std::string_view word) {
  std::int64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

}  // namespace

Result<ProcessStat> parseProcessStat(std::string_view text, long ticksPerSecond, Bytes page) {
  // The name may hold spaces and parentheses; the fields after the last ")" are numbers, from the third on.
  const auto end = text.rfind(')');
  if (end == std::string_view::npos) return fail(Code::invalid, "no process name in stat");
  const std::vector<std::string_view> words = split(text.substr(end + 1));
  constexpr std::size_t kFirst = 3;
  const auto fieldAt = [&](std::size_t n) { return number(words[n - kFirst]); };
  if (words.size() <= 24 - kFirst) return fail(Code::invalid, "too few fields in stat");
  const auto ticks = static_cast<double>(ticksPerSecond);
  return ProcessStat{.cpuSeconds = static_cast<double>(fieldAt(14) + fieldAt(15)) / ticks,
                     .startSeconds = static_cast<double>(fieldAt(22)) / ticks,
                     .threads = fieldAt(20),
                     .virtualMemory = Bytes{fieldAt(23)},
                     .residentMemory = scale(page, fieldAt(24), 1)};
}

Result<std::int64_t> parseBootTime(std::string_view text) {
  constexpr std::string_view kKey = "\nbtime ";
  const auto at = text.find(kKey);
  if (at == std::string_view::npos) return fail(Code::invalid, "no btime in stat");
  return number(text.substr(at + kKey.size()));
}

Result<ProcessFacts> readProcess(const std::string& procRoot) {
  const auto own = readFile(procRoot + "/self/stat", kStatCap);
  if (!own) return tl::unexpected(own.error());
  const auto system = readFile(procRoot + "/stat", kSystemStatCap);
  if (!system) return tl::unexpected(system.error());
  const auto stat = parseProcessStat(*own, sysconf(_SC_CLK_TCK), Bytes{sysconf(_SC_PAGESIZE)});
  if (!stat) return tl::unexpected(stat.error());
  const auto boot = parseBootTime(*system);
  if (!boot) return tl::unexpected(boot.error());

  ProcessFacts facts{
      .stat = *stat, .startTime = static_cast<double>(*boot) + stat->startSeconds, .openFds = 0, .maxFds = 0};
  std::error_code ignored;
  for (auto entry = std::filesystem::directory_iterator(procRoot + "/self/fd", ignored);
       !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    ++facts.openFds;
  }
  if (facts.openFds > 0) --facts.openFds;  // the one that was open to count
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) facts.maxFds = static_cast<std::int64_t>(files.rlim_cur);
  return facts;
}

}  // namespace memqos::metrics
