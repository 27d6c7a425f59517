// The hand that writes: compare, journal, write, read back. Runs on the control lane only; knows nothing of plans.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/journal.h"
#include "control/target.h"
#include "control/watchdog.h"

namespace memqos::control {

// The kernel calls of a writer, so that a test can make them fail as the kernel would. Blocking.
class Files {
 public:
  virtual ~Files() = default;
  virtual Result<Limit> read(const cgroup::Cgroup& cgroup, cgroup::File file);
  virtual Status write(const cgroup::Cgroup& cgroup, cgroup::File file, Limit value);
  virtual Result<Bytes> usage(const cgroup::Cgroup& cgroup);  // memory.current
};

// One wanted change of one file.
struct Change {
  cgroup::Handle cgroup;
  cgroup::File file = cgroup::File::memoryMin;
  Limit value;             // to write; for a restore the baseline counts instead
  bool restore = false;    // put the baseline back, if the file still holds a value of ours, and forget it
  bool keepsRoom = false;  // memory.high going down: refuse if usage leaves less than headroomFor(usage)
  bool held = false;       // as in Target
  std::optional<Limit> plain{};
  [[nodiscard]] Key key() const { return {cgroup->id(), file}; }
};

enum class Outcome {
  same,         // the file held it already
  written,      // written and read back
  leftAlone,    // a restore found a value that is not ours
  gone,         // the cgroup went away
  unsupported,  // this kernel has no such file
  tooClose,     // keepsRoom refused
  mismatch,     // the kernel took another value
  unjournaled,  // the journal cannot be appended: nothing was written
  unwatched,    // no watchdog for memory.high or a held value: nothing was written
  failed,       // any other errno
};
std::string_view name(Outcome outcome);  // metric label: "same", "written", ...

// What was found and done.
struct Applied {
  Key key;
  std::string path;
  Limit asked;
  bool restore = false;
  Outcome outcome = Outcome::failed;
  std::optional<Limit> before;    // found by the compare
  std::optional<Limit> after;     // in the kernel now
  std::optional<Limit> baseline;  // what a restore would put back from now on
  bool foreign = false;           // somebody else wrote the file since it was last seen
  std::string error;
};

class Writer {
 public:
  Writer(std::unique_ptr<Files> files, std::unique_ptr<Journal> journal, std::unique_ptr<Watchdog> watchdog);
  // Writes in the given order; one failure does not stop the rest.
  std::vector<Applied> apply(const std::vector<Change>& changes);
  // Reads only: what the file holds, and what is known of it. Adopts what a journal of an earlier run says.
  Applied look(const cgroup::Handle& cgroup, cgroup::File file);
  // What a restore would put back, without noticing a foreign write (look() will). nullopt: the file cannot be read.
  [[nodiscard]] std::optional<Limit> baselineOf(const cgroup::Cgroup& cgroup, cgroup::File file) const;
  // Drops the records of cgroups that are gone.
  void forget(cgroup::Id id);
  [[nodiscard]] const Journal& journal() const { return *journal_; }
  [[nodiscard]] bool watched() const { return watchdog_->available(); }

 private:
  // What the writer remembers of a file that it has touched or looked at.
  struct Known {
    Limit baseline;
    std::vector<Limit> ours;    // at most kOursKept
    std::optional<Limit> last;  // seen or written by this run
    std::optional<Limit> told;  // the value that the watchdog knows; nullopt: it does not hold the file
  };
  static bool isForeign(const Known& known, Limit current);
  Applied one(const Change& change);
  void write(const Change& change, Known& known, Applied& out);
  bool announce(const Change& change, Known& known, Applied& out);
  void restore(const Change& change, Known& known, Applied& out);
  void put(const Change& change, Limit value, Applied& out);
  [[nodiscard]] std::optional<Known> recall(const cgroup::Cgroup& cgroup, const Key& key) const;
  Known& learn(const cgroup::Cgroup& cgroup, const Key& key, Limit current, Applied& out);

  std::unique_ptr<Files> files_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Watchdog> watchdog_;
  std::map<Key, Known> known_;
};

}  // namespace memqos::control
