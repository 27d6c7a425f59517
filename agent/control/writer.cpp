#include "control/writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "control/high.h"

namespace memqos::control {
namespace {

bool contains(const std::vector<Limit>& values, Limit value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Values that would do harm if the agent died: told to the watchdog before they are written.
bool needsWatchdog(const Change& change) {
  return change.held || change.file == cgroup::File::memoryHigh;
}

// Classifies a failed call: a missing file in a living cgroup is a kernel without it, everything else missing is gone.
Outcome outcomeOf(const Error& error, const cgroup::Cgroup& cgroup, cgroup::File file) {
  if (error.code == Code::unsupported) return Outcome::unsupported;
  if (error.code != Code::gone) return Outcome::failed;
  return error.sysErrno == ENOENT && cgroup.alive() && !cgroup.exists(cgroup::name(file)) ? Outcome::unsupported
                                                                                          : Outcome::gone;
}

// The kernel keeps whole pages (64 KiB at most), and calls "max" what no machine has.
bool isKernelsForm(Limit written, Limit read) {
  constexpr Bytes kLargestPage{64LL * 1024};
  if (read.isMax()) return written.bytes() > Limit::max().bytes() - kLargestPage;
  return read < written && written.bytes() - read.bytes() < kLargestPage;
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
      return "same";
    case Outcome::written:
      return "written";
    case Outcome::leftAlone:
      return "left_alone";
    case Outcome::gone:
      return "gone";
    case Outcome::unsupported:
      return "unsupported";
    case Outcome::tooClose:
      return "too_close";
    case Outcome::mismatch:
      return "mismatch";
    case Outcome::unjournaled:
      return "unjournaled";
    case Outcome::unwatched:
      return "unwatched";
    case Outcome::failed:
      return "failed";
  }
  return "failed";
}

Result<Limit> Files::read(const cgroup::Cgroup& cgroup, cgroup::File file) {
  return cgroup.readLimit(cgroup::name(file));
}

Status Files::write(const cgroup::Cgroup& cgroup, cgroup::File file, Limit value) {
  return cgroup.write(cgroup::name(file), toText(value));
}

Result<Bytes> Files::usage(const cgroup::Cgroup& cgroup) {
  auto value = cgroup.readLimit("memory.current");
  if (!value) return tl::unexpected(std::move(value.error()));
  return value->bytes();
}

Writer::Writer(std::unique_ptr<Files> files, std::unique_ptr<Journal> journal, std::unique_ptr<Watchdog> watchdog)
    : files_(std::move(files)), journal_(std::move(journal)), watchdog_(std::move(watchdog)) {}

std::vector<Applied> Writer::apply(const std::vector<Change>& changes) {
  std::vector<Applied> out;
  out.reserve(changes.size());
  for (const Change& change : changes) out.push_back(one(change));
  return out;
}

std::optional<Writer::Known> Writer::recall(const cgroup::Cgroup& cgroup, const Key& key) const {
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const auto recorded = journal_->entries().find(key);
  if (recorded == journal_->entries().end() || recorded->second.path != cgroup.path()) return std::nullopt;
  return Known{recorded->second.baseline, recorded->second.ours, {}, {}};
}

Writer::Known& Writer::learn(const cgroup::Cgroup& cgroup, const Key& key, Limit current, Applied& out) {
  Known& known = known_[key] = recall(cgroup, key).value_or(Known{current, {}, {}, {}});
  if (isForeign(known, current)) {
    known.baseline = current;
    out.foreign = true;
  }
  known.last = current;
  out.before = out.after = current;
  out.baseline = known.baseline;
  return known;
}

// Back at the baseline is somebody else's write too, unless it is how an earlier run (or the watchdog) left it.
bool Writer::isForeign(const Known& known, Limit current) {
  return current != known.last.value_or(known.baseline) && !contains(known.ours, current);
}

std::optional<Limit> Writer::baselineOf(const cgroup::Cgroup& cgroup, cgroup::File file) const {
  const auto current = files_->read(cgroup, file);
  if (!current) return std::nullopt;
  const auto known = recall(cgroup, {cgroup.id(), file});
  return !known || isForeign(*known, *current) ? *current : known->baseline;
}

Applied Writer::look(const cgroup::Handle& cgroup, cgroup::File file) {
  Applied out;
  out.key = {cgroup->id(), file};
  out.path = cgroup->path();
  auto current = files_->read(*cgroup, file);
  if (!current) {
    out.outcome = outcomeOf(current.error(), *cgroup, file);
    out.error = current.error().text();
    return out;
  }
  learn(*cgroup, out.key, *current, out);
  out.outcome = Outcome::same;
  return out;
}

Applied Writer::one(const Change& change) {
  Applied out = look(change.cgroup, change.file);
  out.asked = change.value;
  out.restore = change.restore;
  if (out.outcome != Outcome::same) {
    if (out.outcome == Outcome::gone) forget(out.key.id);
    return out;
  }
  Known& known = known_.at(out.key);
  if (change.restore) {
    restore(change, known, out);
  } else {
    write(change, known, out);
  }
  return out;
}

void Writer::write(const Change& change, Known& known, Applied& out) {
  if (*out.before == change.value) {
    // Left by an earlier run, or its plain value changed: this run's watchdog must know.
    if (needsWatchdog(change) && contains(known.ours, change.value)) announce(change, known, out);
    return;
  }
  if (change.keepsRoom) {
    const auto usage = files_->usage(*change.cgroup);
    if (!usage || change.value.bytes() < *usage + headroomFor(*usage)) {
      out.outcome = Outcome::tooClose;
      return;
    }
  }
  if (!announce(change, known, out)) return;
  put(change, change.value, out);
  if (out.outcome != Outcome::written || !known.told || needsWatchdog(change)) return;
  watchdog_->release(*change.cgroup, change.file);
  known.told.reset();
}

// Tells the journal and the watchdog what is about to be written. Whatever a crash leaves in the file, the next start
// must find it in the journal: so the value that the watchdog would put back is recorded before the watchdog knows it.
// Both remember the newest few values only: one that is still in the file, because newer writes failed, is told again.
bool Writer::announce(const Change& change, Known& known, Applied& out) {
  const auto record = [&](Limit value) {
    const auto recorded = journal_->recordWrite(out.key, change.cgroup->path(), known.baseline, value);
    if (recorded) {
      rememberOurs(known.ours, value);
      return true;
    }
    out.outcome = Outcome::unjournaled;
    out.error = recorded.error().text();
    return false;
  };
  const bool left = contains(known.ours, *out.before);
  if (left && known.ours.back() != *out.before && !record(*out.before)) return false;
  if (needsWatchdog(change)) {
    const Limit back = change.plain.value_or(known.baseline);
    if (back != known.baseline && !record(back)) return false;
    const auto tell = [&](Limit value) {
      known.told = value;  // also if it fails: an answer that came too late may have been a yes
      const auto held = watchdog_->hold(*change.cgroup, change.file, value, back);
      if (held) return true;
      out.outcome = Outcome::unwatched;
      out.error = held.error().text();
      return false;
    };
    if (left && known.told && known.told != *out.before && !tell(*out.before)) return false;
    if (!tell(change.value)) return false;
  }
  return record(change.value);
}

void Writer::restore(const Change& change, Known& known, Applied& out) {
  out.asked = known.baseline;
  const bool ours = contains(known.ours, *out.before) && *out.before != known.baseline;
  if (ours) {
    put(change, known.baseline, out);
    if (out.outcome != Outcome::written) return;
  } else if (out.foreign) {
    out.outcome = Outcome::leftAlone;
  }
  known.ours.clear();
  if (known.told) watchdog_->release(*change.cgroup, change.file);
  known.told.reset();
  // A record that cannot be dropped does no harm: the file holds its baseline, so the next start has nothing to put
  // back.
  if (auto done = journal_->recordDone(out.key); !done) out.error = done.error().text();
}

void Writer::put(const Change& change, Limit value, Applied& out) {
  if (auto written = files_->write(*change.cgroup, change.file, value); !written) {
    out.outcome = outcomeOf(written.error(), *change.cgroup, change.file);
    out.error = written.error().text();
    if (out.outcome == Outcome::gone) forget(out.key.id);
    return;
  }
  auto after = files_->read(*change.cgroup, change.file);
  if (!after) {
    out.outcome = outcomeOf(after.error(), *change.cgroup, change.file);
    out.error = after.error().text();
    return;
  }
  Known& known = known_.at(out.key);
  out.after = known.last = *after;
  out.outcome = Outcome::written;
  if (*after == value) return;
  if (*after == *out.before || isKernelsForm(value, *after)) {
    out.outcome = Outcome::mismatch;
    out.error = fmt::format("the kernel keeps {}", toText(*after));
    rememberOurs(known.ours, *after);  // what it made of our value is ours to restore
    return;
  }
  // Somebody else was quicker than the read: a write like any other of theirs.
  known.baseline = *after;
  out.baseline = known.baseline;
  out.foreign = true;
}

void Writer::forget(cgroup::Id id) {
  const auto first = known_.lower_bound({id, cgroup::kFiles.front()});
  const auto last = known_.upper_bound({id, cgroup::kFiles.back()});
  known_.erase(first, last);
  std::vector<Key> dead;
  for (const auto& [key, entry] : journal_->entries()) {
    if (key.id == id) dead.push_back(key);
  }
  for (const Key& key : dead) {
    // Kept if it cannot be dropped: an id of a removed cgroup is never used again before the next boot.
    [[maybe_unused]] const Status dropped = journal_->recordDone(key);
  }
}

}  // namespace memqos::control
