#include "cgroup/stat.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace memqos::cgroup {
namespace {

// Above this an unsigned counter went below zero. The sum of two is still a number.
constexpr std::int64_t kLargest = (std::int64_t{1} << 62) - 1;

// Calls `each` with every line, without the newline.
template <typename Each>
void forLines(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    each(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The next word of `text`, which is cut off it; empty at the end.
std::string_view nextWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

struct Number {
  std::int64_t value = 0;
  bool absurd = false;
};

// nullopt: not a whole number.
std::optional<Number> parseNumber(std::string_view word) {
  const bool negative = !word.empty() && word[0] == '-';
  if (negative) word.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || end != word.data() + word.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc() || (negative && value != 0) || value > std::uint64_t{kLargest}) return Number{0, true};
  return Number{static_cast<std::int64_t>(value), false};
}

}  // namespace

std::int64_t FlatKeyed::get(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? 0 : found->second;
}

Result<FlatKeyed> parseFlatKeyed(std::string_view text) {
  FlatKeyed out;
  bool anyLine = false;
  forLines(text, [&](std::string_view line) {
    const auto key = nextWord(line);
    if (key.empty()) return;
    anyLine = true;
    const auto number = parseNumber(nextWord(line));
    if (!number) return;  // a form that a later kernel may bring
    out.absurd += number->absurd ? 1 : 0;
    out.values.insert_or_assign(std::string(key), number->value);
  });
  if (anyLine && out.values.empty()) return fail(Code::invalid, "no line is a key and a number");
  return out;
}

Bytes MemoryStat::pageCache() const {
  return std::max(file - shmem, Bytes{0});
}

Bytes MemoryStat::cleanCache() const {
  // Shared memory and locked pages are on other lists.
  const Bytes listed = std::min(pageCache(), activeFile + inactiveFile);
  return std::max(listed - fileDirty - fileWriteback, Bytes{0});
}

Bytes MemoryStat::reclaimable() const {
  return cleanCache() + slabReclaimable;
}

Result<MemoryStat> parseMemoryStat(std::string_view text) {
  const auto flat = parseFlatKeyed(text);
  if (!flat) return tl::unexpected(flat.error());
  const auto bytes = [&](std::string_view key) { return Bytes{flat->get(key)}; };
  MemoryStat stat;
  stat.anon = bytes("anon");
  stat.file = bytes("file");
  stat.shmem = bytes("shmem");
  stat.fileMapped = bytes("file_mapped");
  stat.fileDirty = bytes("file_dirty");
  stat.fileWriteback = bytes("file_writeback");
  stat.activeFile = bytes("active_file");
  stat.inactiveFile = bytes("inactive_file");
  stat.unevictable = bytes("unevictable");
  stat.slabReclaimable = bytes("slab_reclaimable");
  stat.pgscan = flat->get("pgscan");
  stat.pgsteal = flat->get("pgsteal");
  // Before 5.9 one counter stood for both kinds (mm: workingset: anon refault detection).
  stat.refaultFile = flat->get("workingset_refault_file") + flat->get("workingset_refault");
  stat.refaultAnon = flat->get("workingset_refault_anon");
  stat.restoreFile = flat->get("workingset_restore_file") + flat->get("workingset_restore");
  stat.restoreAnon = flat->get("workingset_restore_anon");
  stat.absurd = flat->absurd;
  return stat;
}

Result<MemoryStat> parseMemoryStatV1(std::string_view text) {
  const auto flat = parseFlatKeyed(text);
  if (!flat) return tl::unexpected(flat.error());
  const auto bytes = [&](std::string_view key) { return Bytes{flat->get(key)}; };
  MemoryStat stat;
  stat.anon = bytes("total_rss");
  stat.file = bytes("total_cache");
  stat.shmem = bytes("total_shmem");
  stat.fileMapped = bytes("total_mapped_file");
  stat.fileDirty = bytes("total_dirty");
  stat.fileWriteback = bytes("total_writeback");
  stat.activeFile = bytes("total_active_file");
  stat.inactiveFile = bytes("total_inactive_file");
  stat.unevictable = bytes("total_unevictable");
  stat.absurd = flat->absurd;
  return stat;
}

MemoryEvents memoryEvents(const FlatKeyed& flat) {
  return {flat.get("low"), flat.get("high"),     flat.get("max"),
          flat.get("oom"), flat.get("oom_kill"), flat.get("oom_group_kill")};
}

Result<MemoryEvents> parseMemoryEvents(std::string_view text) {
  return parseFlatKeyed(text).map(memoryEvents);
}

// some avg10=0.00 avg60=0.00 avg300=0.00 total=51000
Result<Pressure> parsePressure(std::string_view text) {
  Pressure pressure;
  bool found = false;
  bool wrong = false;
  forLines(text, [&](std::string_view line) {
    const auto kind = nextWord(line);
    if (kind != "some" && kind != "full") return;
    for (auto word = nextWord(line); !word.empty(); word = nextWord(line)) {
      constexpr std::string_view kTotal = "total=";
      if (word.substr(0, kTotal.size()) != kTotal) continue;
      const auto total = parseNumber(word.substr(kTotal.size()));
      wrong = wrong || !total;
      (kind == "some" ? pressure.some : pressure.full) = std::chrono::microseconds(total ? total->value : 0);
      found = found || kind == "some";
    }
  });
  if (!found || wrong) return fail(Code::invalid, "not a pressure file");
  return pressure;
}

Result<CgroupEvents> parseCgroupEvents(std::string_view text) {
  const auto flat = parseFlatKeyed(text);
  if (!flat) return tl::unexpected(flat.error());
  if (flat->values.find("populated") == flat->values.end()) return fail(Code::invalid, "no line 'populated'");
  return CgroupEvents{flat->get("populated") != 0, flat->get("frozen") != 0};
}

Result<CgroupCount> parseCgroupStat(std::string_view text) {
  const auto flat = parseFlatKeyed(text);
  if (!flat) return tl::unexpected(flat.error());
  if (flat->values.find("nr_descendants") == flat->values.end()) return fail(Code::invalid, "no line nr_descendants");
  // From 6.12 on per controller; a cgroup without the memory controller has no id of its own there.
  if (flat->values.find("nr_subsys_memory") != flat->values.end())
    return CgroupCount{flat->get("nr_subsys_memory"), flat->get("nr_dying_subsys_memory")};
  return CgroupCount{flat->get("nr_descendants"), flat->get("nr_dying_descendants")};
}

// memory	11	65535	1
Result<std::int64_t> parseMemoryCgroups(std::string_view text) {
  std::optional<Number> count;
  forLines(text, [&](std::string_view line) {
    if (nextWord(line) != "memory") return;
    nextWord(line);  // the hierarchy's number
    count = parseNumber(nextWord(line));
  });
  if (!count || count->absurd) return fail(Code::invalid, "no line 'memory'");
  return count->value;
}

// MemTotal:        8028236 kB
Result<MemInfo> parseMemInfo(std::string_view text) {
  const auto flat = parseFlatKeyed(text);
  if (!flat) return tl::unexpected(flat.error());
  // Without them every decision that compares the two would be wrong, so their absence is no zero.
  for (const auto* key : {"MemTotal:", "MemAvailable:"}) {
    if (flat->values.find(key) == flat->values.end()) return fail(Code::invalid, std::string("no line ") + key);
  }
  const auto bytes = [&](std::string_view key) { return scale(kKiB, flat->get(key), 1); };
  return MemInfo{bytes("MemTotal:"), bytes("MemAvailable:"), bytes("SwapTotal:"), bytes("SwapFree:")};
}

}  // namespace memqos::cgroup
