#include "control/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/file.h"

namespace memqos::control {
namespace {

constexpr std::string_view kMagic = "memqos-journal 1 ";
constexpr std::size_t kMaxBytes = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kRewriteAfter = 4'000;  // about 400 KiB of records

std::string encode(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == '%') {
      out += fmt::format("%{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out.empty() ? "%" : out;  // the root's path is empty, a field must not be
}

std::optional<std::string> decode(std::string_view text) {
  if (text == "%") return std::string();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto parsed = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != &text[i + 1] + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const auto space = line.find(' ');
    fields.push_back(line.substr(0, space));
    if (space == std::string_view::npos) return fields;
    line.remove_prefix(space + 1);
  }
}

std::optional<Key> parseKey(std::string_view id, std::string_view file) {
  Key key;
  const auto parsed = std::from_chars(id.data(), id.data() + id.size(), key.id);
  const auto known = cgroup::findFile(file);
  if (id.empty() || parsed.ec != std::errc{} || parsed.ptr != id.data() + id.size() || !known) return std::nullopt;
  key.file = *known;
  return key;
}

void apply(JournalEntries& entries, const Key& key, std::string path, Limit baseline, Limit value) {
  JournalEntry& entry = entries[key];
  entry.path = std::move(path);
  entry.baseline = baseline;
  rememberOurs(entry.ours, value);
}

bool applyLine(JournalEntries& entries, std::string_view line) {
  const auto fields = split(line);
  if (fields.size() == 3 && fields[0] == "done") {
    const auto key = parseKey(fields[1], fields[2]);
    if (key) entries.erase(*key);
    return key.has_value();
  }
  if (fields.size() != 6 || fields[0] != "write") return false;
  const auto key = parseKey(fields[1], fields[2]);
  const auto baseline = parseLimit(fields[3]);
  const auto value = parseLimit(fields[4]);
  auto path = decode(fields[5]);
  if (!key || !baseline || !value || !path) return false;
  apply(entries, *key, std::move(*path), *baseline, *value);
  return true;
}

}  // namespace

void rememberOurs(std::vector<Limit>& ours, Limit value) {
  std::erase(ours, value);
  ours.push_back(value);
  if (ours.size() > kOursKept) ours.erase(ours.begin());
}

Result<JournalEntries> parseJournal(std::string_view text, std::string_view bootId) {
  JournalEntries entries;
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return entries;  // nothing, or a torn header: no record can follow it
  const std::string_view header = text.substr(0, end);
  if (!header.starts_with(kMagic)) return fail(Code::invalid, "this is not a memqos journal");
  if (header.substr(kMagic.size()) != bootId) return entries;
  std::string_view rest = text.substr(end + 1);
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const auto newline = rest.find('\n');
    if (newline == std::string_view::npos) break;
    if (!applyLine(entries, rest.substr(0, newline))) {
      return fail(Code::invalid, fmt::format("line {} of the journal cannot be read", number));
    }
    rest.remove_prefix(newline + 1);
  }
  return entries;
}

std::string formatWrite(const Key& key, const JournalEntry& entry) {
  std::string out;
  for (const Limit value : entry.ours) {
    out += fmt::format("write {} {} {} {} {}\n", key.id, cgroup::name(key.file), toText(entry.baseline), toText(value),
                       encode(entry.path));
  }
  return out;
}

std::string formatDone(const Key& key) {
  return fmt::format("done {} {}\n", key.id, cgroup::name(key.file));
}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& runDir, std::string bootId) {
  std::unique_ptr<Journal> journal(new Journal(runDir + "/journal", std::move(bootId)));
  auto text = readFile(journal->path_, kMaxBytes);
  if (text) {
    auto entries = parseJournal(*text, journal->bootId_);
    if (entries) {
      journal->entries_ = std::move(*entries);
    } else {
      // Never thrown away: it is the only record of what the files were.
      const std::string kept = journal->path_ + ".bad";
      if (::rename(journal->path_.c_str(), kept.c_str()) != 0)
        return failErrno(errno, "cannot set the bad journal aside", kept);
      journal->note_ = fmt::format("{}; it is kept as {}", entries.error().text(), kept);
    }
  } else if (text.error().code != Code::gone) {
    return tl::unexpected(std::move(text.error()).in("cannot read the journal"));
  }
  if (auto status = journal->rewrite(); !status) return tl::unexpected(std::move(status.error()));
  return journal;
}

Status Journal::append(const std::string& line) {
  if (appended_ >= kRewriteAfter) {
    if (auto status = rewrite(); !status) return status;
  }
  struct stat before {};
  if (::fstat(fd_.get(), &before) != 0) return failErrno(errno, "cannot look at the journal", path_);
  const ssize_t written = ::write(fd_.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    const int error = written < 0 ? errno : ENOSPC;
    // A short append (disk full) leaves a torn line that would swallow the next one.
    if (written > 0 && ::ftruncate(fd_.get(), before.st_size) != 0)
      return failErrno(errno, "cannot mend the journal", path_);
    return failErrno(error, "cannot append to the journal", path_);
  }
  ++appended_;
  return {};
}

Status Journal::rewrite() {
  const std::string next = path_ + ".new";
  Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failErrno(errno, "cannot write the journal", next);
  std::string text = fmt::format("{}{}\n", kMagic, bootId_);
  for (const auto& [key, entry] : entries_) text += formatWrite(key, entry);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failErrno(written < 0 ? errno : ENOSPC, "cannot write the journal", next);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::rename(next.c_str(), path_.c_str()) != 0) return failErrno(errno, "cannot write the journal", path_);
  fd_ = std::move(fd);
  appended_ = 0;
  return {};
}

Status Journal::recordWrite(const Key& key, const std::string& path, Limit baseline, Limit value) {
  JournalEntries one;
  one[key] = {path, baseline, {value}};
  if (auto status = append(formatWrite(key, one[key])); !status) return status;
  apply(entries_, key, path, baseline, value);
  return {};
}

Status Journal::recordDone(const Key& key) {
  if (!entries_.contains(key)) return {};
  if (auto status = append(formatDone(key)); !status) return status;
  entries_.erase(key);
  return {};
}

}  // namespace memqos::control
