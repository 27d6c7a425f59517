#include "control/restore.h"

#include <fmt/format.h>

#include "control/lock.h"
#include "control/order.h"
#include "control/spawned_watchdog.h"

namespace memqos::control {
namespace {

std::string pathOf(const std::string& cgroup, cgroup::File file) {
  return fmt::format("{}{}{}", cgroup, cgroup.empty() ? "" : "/", cgroup::name(file));
}

// The newest of ours stands for what the file holds: good enough to order by.
bool widens(const Change& change, const JournalEntries& entries) {
  const auto entry = entries.find(change.key());
  return entry == entries.end() || entry->second.ours.empty() || entry->second.baseline > entry->second.ours.back();
}

}  // namespace

report::RestoredFile toRow(const Applied& applied) {
  report::RestoredFile row{pathOf(applied.path, applied.key.file), applied.before, applied.baseline, {}};
  switch (applied.outcome) {
    case Outcome::written:
      row.result = report::kRestored;
      break;
    case Outcome::same:
      row.result = report::kUnchanged;
      break;
    case Outcome::leftAlone:
      row.result = report::kForeign;
      break;
    case Outcome::gone:
      row.result = report::kGone;
      break;
    default:
      row.result = applied.error.empty() ? std::string(name(applied.outcome)) : applied.error;
      break;
  }
  return row;
}

Result<std::vector<report::RestoredFile>> restoreOffline(const std::string& runDir, const cgroup::Root& root,
                                                         const std::string& bootId) {
  auto lock = lockRunDir(runDir);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  auto journal = Journal::open(runDir, bootId);
  if (!journal) return tl::unexpected(std::move(journal.error()));
  const JournalEntries entries = (*journal)->entries();
  // An offline restore changes nothing that anybody would have to undo.
  Writer writer(std::make_unique<Files>(), std::move(*journal), std::make_unique<NoWatchdog>());
  std::vector<report::RestoredFile> rows;
  std::vector<Change> changes;
  for (const auto& [key, entry] : entries) {
    auto cgroup = root.find(entry.path);
    if (cgroup && (*cgroup)->id() == key.id) {
      changes.push_back({std::move(*cgroup), key.file, entry.baseline, true, false});
    } else {
      rows.push_back({pathOf(entry.path, key.file), std::nullopt, entry.baseline, std::string(report::kGone)});
      writer.forget(key.id);
    }
  }
  orderForWriting(
      changes, [](const Change& change) -> const std::string& { return change.cgroup->path(); },
      [&](const Change& change) { return widens(change, entries); });
  for (const Applied& applied : writer.apply(changes)) rows.push_back(toRow(applied));
  return rows;
}

}  // namespace memqos::control
