#include "kube/source.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "document/list_splitter.h"
#include "kube/lines.h"
#include "kube/objects.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kListIdle = 30s;
constexpr auto kWatchGrace = 30s;  // after timeoutSeconds
constexpr auto kLaneGrace = 15s;   // for the transport's own deadlines to be the first
constexpr std::size_t kRefusalCap = 64 * 1024;
constexpr int kMostUnderWay = 64;  // changes that the loop has not taken yet
constexpr int kOk = 200;

Milliseconds ms(Duration duration) {
  return std::chrono::duration_cast<Milliseconds>(duration);
}

bool isJson(const Head& head) {
  return head.contentType.starts_with("application/json");
}

}  // namespace

struct Source::Job {
  std::shared_ptr<Transport> transport;
  Resource resource;
  ReflectorTuning tuning;
  std::stop_token stop;
};

struct Source::ListDone {
  std::vector<Object> items;
  std::string resourceVersion, continueToken;
  std::optional<Refusal> refused;
  std::string code;
};

struct Source::WatchDone {
  WatchEnd end = WatchEnd::broken;
  Refusal refusal;
  std::string code;
};

struct Source::Change {
  enum class Kind { set, remove, progress } kind = Kind::progress;
  Object object;
  std::string resourceVersion;
};

// Back-pressure: the watching thread waits while too much is on its way to the loop.
class Source::Gate {
 public:
  bool enter(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!free_.wait(lock, stop, [&] { return inside_ < kMostUnderWay; })) return false;
    ++inside_;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any free_;
  int inside_ = 0;
};

Source::Source(loop::Loop& loop, std::unique_ptr<loop::Lane> lane, std::shared_ptr<Transport> transport,
               Resource resource, Callbacks callbacks, ReflectorTuning tuning, std::function<double()> random)
    : loop_(loop),
      callbacks_(std::move(callbacks)),
      tuning_(tuning),
      reflector_(tuning, std::move(random)),
      gate_(std::make_shared<Gate>()),
      lane_(std::move(lane)) {
  job_ = std::make_shared<const Job>(Job{std::move(transport), std::move(resource), tuning, stop_.get_token()});
}

Source::~Source() {
  stop_.request_stop();
  lane_.reset();  // joins
}

void Source::start() {
  perform(reflector_.start(loop_.now()));
}

void Source::perform(Action action) {
  if (const auto* wait = std::get_if<Wait>(&action)) {
    timer_ = loop_.at(wait->until, [this] { perform(reflector_.waited(loop_.now())); });
  } else if (const auto* list = std::get_if<List>(&action)) {
    performList(*list);
  } else {
    performWatch(std::get<Watch>(action));
  }
  tellState();
}

void Source::submit(Duration deadline, std::function<void()> work, const std::function<void(bool lost)>& done) {
  const bool queued = lane_->submit(deadline, std::move(work),
                                    [done, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
                                      if (!alive.expired()) done(outcome == loop::Lane::Outcome::lost);
                                    });
  if (!queued) {
    timer_ = loop_.after(1s, [done] { done(true); });
  }
}

void Source::performList(const List& action) {
  if (action.continueToken.empty()) pages_.clear();
  auto result = std::make_shared<ListDone>();
  submit(
      tuning_.listDeadline + kLaneGrace, [job = job_, action, result] { *result = list(*job, action); },
      [this, action, result](bool lost) {
        if (!lost) return listed(action, std::move(*result));
        ListDone nothing;
        nothing.refused = Refusal{.text = "the list did not end"};
        listed(action, std::move(nothing));
      });
}

void Source::performWatch(const Watch& action) {
  auto result = std::make_shared<WatchDone>();
  const std::weak_ptr<bool> alive = alive_;
  const auto deliver = [this, alive, gate = gate_, stop = stop_.get_token(), &loop = loop_](Change change) {
    if (!gate->enter(stop)) return false;
    loop.post([this, alive, gate, change = std::move(change)]() mutable {
      gate->leave();
      if (!alive.expired()) changed(std::move(change));
    });
    return true;
  };
  const auto opened = [this, alive, &loop = loop_] {
    loop.post([this, alive] {
      if (alive.expired()) return;
      reflector_.watchOpened();
      tellState();
    });
  };
  submit(
      action.timeout + kWatchGrace + kLaneGrace,
      [job = job_, action, result, deliver, opened] { *result = watch(*job, action, deliver, opened); },
      [this, result](bool lost) { watched(lost ? WatchDone{} : *result); });
}

Source::ListDone Source::list(const Job& job, const List& action) {
  ListDone out;
  Request request{.path = job.resource.path};
  request.query = {{"fieldSelector", job.resource.fieldSelector}};
  if (!action.resourceVersion.empty()) request.query.emplace_back("resourceVersion", action.resourceVersion);
  if (action.notOlderThan) request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  if (action.limit > 0) request.query.emplace_back("limit", std::to_string(action.limit));
  if (!action.continueToken.empty()) request.query.emplace_back("continue", action.continueToken);
  request.deadline = ms(job.tuning.listDeadline);
  request.idle = kListIdle;

  std::string unreadable;
  document::ListSplitter splitter([&](std::string_view text) {
    const auto item = document::parseJson(text);
    if (!item) {
      unreadable = item.error().error.text();
      return false;
    }
    if (auto value = job.resource.decode(*item)) out.items.push_back({keyOf(*item), std::move(*value)});
    return true;
  });
  std::string body;
  const auto head = job.transport->stream(
      request,
      [&](const Head& h, std::string_view part) {
        if (h.status == kOk && isJson(h)) return splitter.feed(part);
        body += part;
        return body.size() < kRefusalCap;
      },
      job.stop);
  out.code = codeLabel(head);
  if (!head) {
    out.refused = refusalOf(head.error());
  } else if (head->status != kOk || !isJson(*head)) {
    out.refused = refusalOf(*head, body);
  } else if (!unreadable.empty() || splitter.tooLong()) {
    out.refused =
        Refusal{.text = "an item of the list cannot be read: " + (unreadable.empty() ? "too long" : unreadable)};
  } else if (const auto envelope = document::parseJson(splitter.envelope()); !envelope) {
    out.refused = Refusal{.text = "the list cannot be read: " + envelope.error().error.text()};
  } else {
    out.resourceVersion = textAt(*envelope, "metadata.resourceVersion");
    out.continueToken = textAt(*envelope, "metadata.continue");
    if (out.resourceVersion.empty()) out.refused = Refusal{.text = "the list has no resourceVersion"};
  }
  return out;
}

namespace {

// What the lines of a watch say, one after the other.
class WatchReader {
 public:
  explicit WatchReader(const Resource& resource) : resource_(resource) {}

  template <typename Deliver>
  bool line(std::string_view text, const Deliver& deliver) {
    const auto parsed = document::parseJson(text);
    const document::Node* object = parsed ? parsed->find("object") : nullptr;
    if (object == nullptr) return end(WatchEnd::malformed, {.text = "a line of the watch cannot be read"});
    const EventType type = eventType(textAt(*parsed, "type"));
    if (type == EventType::error) return end(WatchEnd::refused, decodeStatus(*object, 0));
    const std::string version = textAt(*object, "metadata.resourceVersion");
    const std::string key = keyOf(*object);
    if (type == EventType::unknown || version.empty())
      return end(WatchEnd::malformed, {.text = "a line of the watch is no event"});
    if (type == EventType::bookmark) return deliver(std::nullopt, key, version, false);
    if (type == EventType::deleted) return deliver(std::nullopt, key, version, true);
    auto value = resource_.decode(*object);
    const bool unusable = !value;
    return deliver(std::move(value), key, version, unusable);
  }
  [[nodiscard]] const std::optional<std::pair<WatchEnd, Refusal>>& ended() const { return ended_; }
  bool end(WatchEnd end, Refusal refusal) {
    ended_ = std::pair{end, std::move(refusal)};
    return false;
  }

 private:
  const Resource& resource_;
  std::optional<std::pair<WatchEnd, Refusal>> ended_;
};

}  // namespace

Source::WatchDone Source::watch(const Job& job, const Watch& action, const std::function<bool(Change)>& deliver,
                                const std::function<void()>& opened) {
  Request request{.path = job.resource.path};
  request.query = {{"watch", "1"},
                   {"allowWatchBookmarks", "true"},
                   {"fieldSelector", job.resource.fieldSelector},
                   {"resourceVersion", action.resourceVersion},
                   {"timeoutSeconds", std::to_string(action.timeout.count())}};
  request.deadline = ms(action.timeout + kWatchGrace);
  request.idle = ms(job.tuning.idle);

  WatchReader reader(job.resource);
  LineReader lines;
  std::string body;
  bool open = false;
  const auto take = [&](std::optional<std::any> value, const std::string& key, const std::string& version,
                        bool remove) {
    Change change{remove  ? Change::Kind::remove
                  : value ? Change::Kind::set
                          : Change::Kind::progress,
                  {key, {}},
                  version};
    if (value) change.object.value = std::move(*value);
    return deliver(std::move(change));
  };
  const auto head = job.transport->stream(
      request,
      [&](const Head& h, std::string_view part) {
        if (h.status != kOk || !isJson(h)) {
          body += part;
          return body.size() < kRefusalCap;
        }
        if (!std::exchange(open, true)) opened();
        return lines.feed(part, [&](std::string_view line) { return reader.line(line, take); });
      },
      job.stop);
  WatchDone out;
  out.code = codeLabel(head);
  if (reader.ended()) {
    std::tie(out.end, out.refusal) = *reader.ended();
  } else if (lines.tooLong()) {
    out.end = WatchEnd::malformed;
    out.refusal.text = "a line of the watch is too long";
  } else if (!head) {
    out.end = head.error().code == Code::timeout ? WatchEnd::idle : WatchEnd::broken;
    out.refusal = refusalOf(head.error());
  } else if (head->status != kOk || !isJson(*head)) {
    out.end = head->status == kOk ? WatchEnd::malformed : WatchEnd::refused;
    out.refusal = refusalOf(*head, body);
  } else {
    out.end = WatchEnd::served;
  }
  return out;
}

void Source::listed(const List& action, ListDone done) {
  if (!done.code.empty()) ++requests_[{"list", job_->resource.name, done.code}];
  const loop::TimePoint now = loop_.now();
  if (done.refused) {
    pages_.clear();
    return perform(reflector_.listRefused(now, *done.refused));
  }
  std::vector<Object> items = std::exchange(pages_, {});
  items.insert(items.end(), std::make_move_iterator(done.items.begin()), std::make_move_iterator(done.items.end()));
  Action next = reflector_.listed(now, done.resourceVersion, done.continueToken);
  if (done.continueToken.empty()) {
    callbacks_.replace(std::move(items));
  } else {
    pages_ = std::move(items);
  }
  log::debug("listed", {{"resource", job_->resource.name},
                        {"resourceVersion", done.resourceVersion},
                        {"asked", action.resourceVersion}});
  perform(std::move(next));
}

void Source::watched(const WatchDone& done) {
  if (!done.code.empty()) ++requests_[{"watch", job_->resource.name, done.code}];
  log::debug("watch ended", {{"resource", job_->resource.name}, {"how", name(done.end)}, {"why", done.refusal.text}});
  perform(reflector_.watchEnded(loop_.now(), done.end, done.refusal));
}

void Source::changed(Change change) {
  reflector_.progressed(change.resourceVersion);
  if (change.kind == Change::Kind::set) callbacks_.set(std::move(change.object));
  if (change.kind == Change::Kind::remove) callbacks_.remove(change.object.key);
  tellState();
}

// Told when it changes, not with every attempt.
void Source::tellState() {
  const bool changed = toldProblem_ != problem() || toldSynced_ != synced();
  if (!changed) return;
  if (!problem().empty() && toldProblem_.empty()) {
    log::warning("the API server is not followed; what is known stays",
                 {{"resource", job_->resource.name}, {"error", problem()}});
  } else if (problem().empty() && !toldProblem_.empty()) {
    log::info("the API server is followed again", {{"resource", job_->resource.name}});
  }
  toldProblem_ = problem();
  toldSynced_ = synced();
  callbacks_.state();
}

}  // namespace memqos::kube
