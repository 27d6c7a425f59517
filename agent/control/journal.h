// What memqos changed, on /run: survives the agent, not the boot, like the cgroups themselves.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "control/target.h"

namespace memqos::control {

// A crash may come before or after the write that the journal announced, and the watchdog may put a plain value back
// instead of a held one: the last three values are ours.
inline constexpr std::size_t kOursKept = 3;
void rememberOurs(std::vector<Limit>& ours, Limit value);

// One file that memqos has written and not yet restored.
struct JournalEntry {
  std::string path;  // of the cgroup, below the root; checked against the id before it is believed
  Limit baseline;    // what restore puts back
  std::vector<Limit>
      ours;  // the last values of ours, newest last, at most two: a crash may come before or after a write
  bool operator==(const JournalEntry&) const = default;
};
using JournalEntries = std::map<Key, JournalEntry>;

// The text format, for tests and people: a header "memqos-journal 1 BOOT_ID", then records in order,
//   write ID FILE BASELINE NEW PATH      (PATH percent-encoded)
//   done ID FILE                         (restored or gone)
// A torn last line (crash in the middle of an append) is dropped; any other unreadable line is an error.
Result<JournalEntries> parseJournal(std::string_view text, std::string_view bootId);
std::string formatWrite(const Key& key, const JournalEntry& entry);
std::string formatDone(const Key& key);

class Journal {
 public:
  // Opens RUNDIR/journal, creating it with mode 0600. A journal of another boot is empty. An unreadable one is kept
  // beside as journal.bad, and reported in `note`. Errors: denied, io.
  static Result<std::unique_ptr<Journal>> open(const std::string& runDir, std::string bootId);
  [[nodiscard]] const JournalEntries& entries() const { return entries_; }
  [[nodiscard]] const std::string& note() const { return note_; }
  // Appends before the kernel write it announces. `value` becomes the newest of ours. Errors: io, denied - then do not
  // write.
  Status recordWrite(const Key& key, const std::string& path, Limit baseline, Limit value);
  Status recordDone(const Key& key);

 private:
  Journal(std::string path, std::string bootId) : path_(std::move(path)), bootId_(std::move(bootId)) {}
  Status append(const std::string& line);
  Status rewrite();  // only what is live, by rename

  std::string path_;
  std::string bootId_;
  std::string note_;
  Fd fd_;
  JournalEntries entries_;
  std::size_t appended_ = 0;  // records since the last rewrite
};

}  // namespace memqos::control
