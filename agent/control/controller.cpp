#include "control/controller.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cgroup/reclaim.h"
#include "cgroup/stat.h"
#include "control/order.h"

namespace memqos::control {
namespace {

constexpr auto kBatchDeadline = std::chrono::seconds(5);
constexpr auto kReclaimDeadline = std::chrono::milliseconds(200);
constexpr auto kRetry = std::chrono::seconds(5);
constexpr auto kFollow =
    std::chrono::seconds(1);  // memory.max and a foreign write this close are one act of the kubelet

bool isPopulated(const cgroup::Cgroup& cgroup) {
  const auto text = cgroup.read("cgroup.events");
  if (!text) return false;
  const auto events = cgroup::parseCgroupEvents(*text);
  return events && events->populated;
}

std::optional<Bytes> usageOf(const cgroup::Cgroup& cgroup) {
  const auto value = cgroup.readLimit("memory.current");
  if (!value) return std::nullopt;
  return value->bytes();
}

}  // namespace

struct Controller::Batch {
  std::vector<std::pair<cgroup::Handle, cgroup::File>> looks;
  std::vector<Change> changes;
  std::map<Key, Limit> current;  // to order by
  std::vector<Applied> results;
  [[nodiscard]] bool empty() const { return looks.empty() && changes.empty(); }
  void order() {
    orderForWriting(
        changes, [](const Change& change) -> const std::string& { return change.cgroup->path(); },
        [this](const Change& change) {
          const auto now = current.find(change.key());
          return now == current.end() || change.value > now->second;
        });
  }
};

Controller::Controller(loop::Loop& loop, loop::Lane& control, loop::Lane& reclaim, std::shared_ptr<Writer> writer,
                       bool canReclaim, Callbacks callbacks)
    : loop_(loop),
      control_(control),
      reclaimLane_(reclaim),
      writer_(std::move(writer)),
      canReclaim_(canReclaim),
      callbacks_(std::move(callbacks)),
      watched_(writer_->watched()) {}

const FileEntry* Controller::find(cgroup::Id id, cgroup::File file) const {
  const auto entry = entries_.find({id, file});
  return entry == entries_.end() ? nullptr : &entry->second;
}

void Controller::adopt(const cgroup::Handle& cgroup, cgroup::File file) {
  FileEntry& entry = entries_[{cgroup->id(), file}];
  entry.cgroup = cgroup;
  entry.file = file;
  paces_[{cgroup->id(), file}].look = true;
}

void Controller::setTargets(const std::vector<Target>& targets, const std::string& trigger) {
  if (suspended_) return;
  std::set<Key> wanted;
  for (const Target& target : targets) {
    const Key key = target.key();
    wanted.insert(key);
    const bool known = entries_.contains(key);
    FileEntry& entry = entries_[key];
    if (!known) paces_[key].look = true;
    const bool changed =
        !known || entry.wanted != target.value || entry.held != target.held || entry.plain != target.plain;
    if (entry.held != target.held || entry.plain != target.plain) paces_[key].announced = false;
    entry.held = target.held;
    entry.plain = target.plain;
    entry.cgroup = target.cgroup;
    entry.file = target.file;
    entry.role = target.role;
    entry.wanted = target.value;
    if (changed) mark(key, trigger);
  }
  for (auto& [key, entry] : entries_) {
    if (wanted.contains(key)) continue;
    entry.wanted.reset();
    mark(key, trigger);
  }
  pump();
}

void Controller::mark(const Key& key, const std::string& trigger) {
  Pace& pace = paces_[key];
  due_.insert(key);
  // What asked first is what the time is measured from; the look after an own write must not take its place.
  if (!pace.trigger.empty()) return;
  pace.trigger = trigger;
  pace.since = loop_.now();
}

void Controller::wake(const Key& key, loop::TimePoint at) {
  paces_[key].timer = loop_.at(at, [this, key] {
    if (!entries_.contains(key)) return;
    due_.insert(key);
    pump();
  });
}

// One batch is under way at a time: what becomes due meanwhile goes into the next.
void Controller::pump() {
  if (busy_ || pumpPosted_) return;
  if (finishing_) {
    startFinish();
    return;
  }
  if (suspended_ || due_.empty()) return;
  pumpPosted_ = true;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    pumpPosted_ = false;
    if (busy_ || suspended_) return pump();
    const auto batch = std::make_shared<Batch>();
    for (const Key& key : std::exchange(due_, {})) collect(key, *batch);
    if (!batch->empty()) submit(batch);
  });
}

void Controller::collect(const Key& key, Batch& batch) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  FileEntry& entry = found->second;
  Pace& pace = paces_[key];
  if (pace.look || !entry.current) {
    pace.look = false;
    batch.looks.emplace_back(entry.cgroup, entry.file);
    return;
  }
  if (pace.notBefore && loop_.now() < *pace.notBefore) {
    wake(key, *pace.notBefore);
    return;
  }
  pace.notBefore.reset();
  if (entry.outcome == Outcome::unsupported) {
    if (!entry.wanted) drop(key);
    return;
  }
  batch.current[key] = *entry.current;
  if (entry.file == cgroup::File::memoryHigh) {
    collectHigh(key, entry, pace, batch);
  } else if (!entry.wanted) {
    batch.changes.push_back({entry.cgroup, entry.file, entry.baseline.value_or(*entry.current), true, false});
  } else if (*entry.wanted != *entry.current) {
    batch.changes.push_back({entry.cgroup, entry.file, *entry.wanted, false, false, entry.held, entry.plain});
    pace.announced = true;
  } else if (entry.held && !std::exchange(pace.announced, true)) {
    batch.changes.push_back({entry.cgroup, entry.file, *entry.wanted, false, false, entry.held, entry.plain});
  }
}

void Controller::collectHigh(const Key& key, FileEntry& entry, Pace& pace, Batch& batch) {
  const Limit goal = entry.wanted.value_or(entry.baseline.value_or(Limit::max()));
  if (!entry.wanted && goal >= *entry.current) {
    batch.changes.push_back({entry.cgroup, entry.file, goal, true, false});
    return;
  }
  if (pace.reclaiming) return;
  if (!writer_->watched()) {
    // Nobody would undo it if we died: back to the baseline, where the writer says why it stays.
    const bool ours = entry.current != entry.baseline;
    batch.changes.push_back({entry.cgroup, entry.file, ours ? *entry.baseline : goal, ours, false});
    return;
  }
  if (entry.wanted == entry.current && entry.baseline != entry.current && !std::exchange(pace.announced, true)) {
    batch.changes.push_back({entry.cgroup, entry.file, *entry.wanted, false, false});
    return;
  }
  HighFacts facts{*entry.current, goal, usageOf(*entry.cgroup), true, canReclaim_};
  facts.populated = goal >= *entry.current || isPopulated(*entry.cgroup);
  const HighStep step = pace.high.step(loop_.now(), facts);
  pace.announced = pace.announced || step.write;
  if (step.write) batch.changes.push_back({entry.cgroup, entry.file, *step.write, false, *step.write < *entry.current});
  if (step.stalled) {
    entry.stalled = true;
    if (callbacks_.stalled) callbacks_.stalled(entry);
  }
  if (step.wakeAt) wake(key, *step.wakeAt);
  if (step.reclaim) reclaim(key, *step.reclaim);
}

void Controller::reclaim(const Key& key, Bytes amount) {
  FileEntry& entry = entries_.at(key);
  auto result = std::make_shared<cgroup::ReclaimResult>();
  const bool queued = reclaimLane_.submit(
      kReclaimDeadline, [cgroup = entry.cgroup, amount, result] { *result = cgroup::reclaim(*cgroup, amount); },
      [this, key, amount, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome) {
        if (alive.expired() || !paces_.contains(key)) return;
        Pace& pace = paces_.at(key);
        pace.reclaiming = false;
        pace.high.reclaimed(loop_.now(), amount, result->got);
        due_.insert(key);
        pump();
      });
  if (queued) {
    paces_[key].reclaiming = true;
  } else {
    wake(key, loop_.now() + kRetry);
  }
}

void Controller::submit(const std::shared_ptr<Batch>& batch) {
  batch->order();
  busy_ = true;
  const bool queued = control_.submit(
      kBatchDeadline,
      [writer = writer_, batch] {
        for (const auto& [cgroup, file] : batch->looks) batch->results.push_back(writer->look(cgroup, file));
        for (Applied& applied : writer->apply(batch->changes)) batch->results.push_back(std::move(applied));
      },
      [this, batch, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        // A lost job's results are still being written by its thread: they are not looked at.
        if (outcome != loop::Lane::Outcome::lost) return finished(*batch);
        retry(*batch);
        pump();
      });
  if (!queued) retry(*batch);
}

// Nothing is known of a batch that was lost or never begun: all of it comes again.
void Controller::retry(const Batch& batch) {
  busy_ = false;
  for (const auto& [cgroup, file] : batch.looks) wake({cgroup->id(), file}, loop_.now() + kRetry);
  for (const Change& change : batch.changes) wake(change.key(), loop_.now() + kRetry);
}

void Controller::finished(const Batch& batch) {
  busy_ = false;
  for (const Applied& applied : batch.results) absorb(applied);
  pump();
}

void Controller::absorb(const Applied& applied) {
  if (callbacks_.applied) callbacks_.applied(applied);
  if (applied.outcome == Outcome::gone) {
    gone(applied.key.id);
    return;
  }
  const auto found = entries_.find(applied.key);
  if (found == entries_.end()) return;
  FileEntry& entry = found->second;
  Pace& pace = paces_[applied.key];
  entry.outcome = applied.outcome;
  entry.error = applied.error;
  const std::optional<Limit> baselineBefore = entry.baseline;
  if (applied.baseline) entry.baseline = applied.baseline;
  if (applied.after) entry.current = applied.after;
  if (applied.foreign) absorbForeign(applied.key, entry);
  if (entry.role == Role::ancestor && entry.baseline != baselineBefore && callbacks_.replan) callbacks_.replan();

  switch (applied.outcome) {
    case Outcome::written:
      if (callbacks_.latency && !pace.trigger.empty()) callbacks_.latency(pace.trigger, loop_.now() - pace.since);
      [[fallthrough]];
    case Outcome::same:
    case Outcome::leftAlone:
      if (applied.restore && !entry.wanted) return drop(applied.key);
      break;
    case Outcome::unsupported:
      if (!entry.wanted) drop(applied.key);
      return;
    case Outcome::tooClose:
      wake(applied.key, loop_.now() + std::chrono::seconds(1));
      return;
    case Outcome::unwatched:
      if (!writer_->watched()) return;  // it never comes back
      [[fallthrough]];
    case Outcome::mismatch:
    case Outcome::unjournaled:
    case Outcome::failed:
      wake(applied.key, loop_.now() + kRetry);
      return;
    case Outcome::gone:
      return;
  }
  // There, or on the way: what is still to be done is due at once.
  if (!entry.wanted || entry.current != entry.wanted) {
    due_.insert(applied.key);
  } else {
    entry.stalled = false;
    if (!due_.contains(applied.key)) pace.trigger.clear();
  }
}

void Controller::absorbForeign(const Key& key, FileEntry& entry) {
  Pace& pace = paces_[key];
  const loop::TimePoint now = loop_.now();
  const auto max = maxChanged_.find(key.id);
  const bool kubelet = entry.role == Role::ancestor || (max != maxChanged_.end() && now - max->second < kFollow);
  if (callbacks_.drifted) callbacks_.drifted(entry, kubelet);
  if (kubelet) {
    if (entry.role != Role::ancestor && callbacks_.replan) callbacks_.replan();
    return;
  }
  const loop::TimePoint at = pace.repair.repairAt(now);
  if (at > now) pace.notBefore = at;
}

void Controller::modified(cgroup::Id id, std::string_view file) {
  if (file == "memory.max") {
    maxChanged_[id] = loop_.now();
    return;
  }
  const auto known = cgroup::findFile(file);
  if (!known || !entries_.contains({id, *known})) return;
  const Key key{id, *known};
  paces_[key].look = true;
  mark(key, "drift");
  pump();
}

void Controller::gone(cgroup::Id id) {
  bool held = false;
  for (const cgroup::File file : cgroup::kFiles) {
    held = held || entries_.contains({id, file});
    drop({id, file});
  }
  maxChanged_.erase(id);
  if (!held) return;
  control_.submit(
      kBatchDeadline, [writer = writer_, id] { writer->forget(id); }, [](loop::Lane::Outcome) {});
}

void Controller::drop(const Key& key) {
  entries_.erase(key);
  paces_.erase(key);
  due_.erase(key);
}

void Controller::sampled(cgroup::Id id, const HighSample& sample) {
  if (watched_ && !writer_->watched()) lostWatchdog();
  const Key key{id, cgroup::File::memoryHigh};
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.current || suspended_) return;
  FileEntry& entry = found->second;
  // Somebody else's value is theirs to answer for.
  if (!entry.wanted || entry.current == entry.baseline) return;
  HighSample own = sample;
  own.current = *entry.current;
  HighControl& high = paces_[key].high;
  const auto raised = high.escape(loop_.now(), own);
  if (!raised) return;
  entry.escapes = high.escapes();
  if (callbacks_.escaped) callbacks_.escaped(entry, *raised);
  mark(key, "escape");
  pump();
}

// What it would have undone must not stay; it does not come back before the next start.
void Controller::lostWatchdog() {
  watched_ = false;
  log::error("the watchdog has ended: memory.high and held values are off until the next start",
             {{"reason", "WatchdogLost"}});
  for (const auto& [key, entry] : entries_) {
    if (entry.file == cgroup::File::memoryHigh) mark(key, "watchdog");
  }
  if (callbacks_.replan) callbacks_.replan();
  pump();
}

void Controller::finish(Scope scope, std::function<void(std::vector<Applied>)> done) {
  suspended_ = true;
  finishing_ = scope;
  finishDone_ = std::move(done);
  pump();
}

void Controller::startFinish() {
  const Scope scope = *std::exchange(finishing_, std::nullopt);
  auto batch = std::make_shared<Batch>();
  for (const auto& [key, entry] : entries_) {
    if (scope == Scope::unwatched && entry.file != cgroup::File::memoryHigh && !entry.held) continue;
    if (scope == Scope::unwatched && entry.held && entry.plain) {
      batch->changes.push_back({entry.cgroup, entry.file, *entry.plain, false, false});
    } else {
      batch->changes.push_back({entry.cgroup, entry.file, entry.baseline.value_or(Limit::max()), true, false});
    }
    if (entry.current) batch->current[key] = *entry.current;
  }
  due_.clear();
  batch->order();
  busy_ = true;
  auto done = std::make_shared<std::function<void(std::vector<Applied>)>>(std::move(finishDone_));
  const bool queued = control_.submit(
      kBatchDeadline, [writer = writer_, batch] { batch->results = writer->apply(batch->changes); },
      [this, batch, done, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        busy_ = false;
        std::vector<Applied> results;
        if (outcome != loop::Lane::Outcome::lost) results = batch->results;
        for (const Applied& applied : results) absorb(applied);
        due_.clear();
        if (*done) (*done)(std::move(results));
      });
  if (!queued && *done) {
    busy_ = false;
    (*done)({});
  }
}

}  // namespace memqos::control
