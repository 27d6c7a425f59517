#include "kube/events.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "kube/objects.h"
#include "policy/finding.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;
using document::Node;

constexpr std::size_t kLongestNote = 1024;
constexpr std::size_t kLongestInstance = 128;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kHashDigits = 16;
constexpr auto kDeadline = 10s;
constexpr auto kLaneGrace = 10s;
constexpr const char* kController = "memqos.io/agent";

// FNV-1a, 64 bit: nobody gains from a collision here.
std::uint64_t hash(std::uint64_t seed, std::string_view text) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (seed ^ 0xFFU) * 0x100000001b3ULL;  // an end that no text has in UTF-8
}

std::string nameOf(const report::Event& event, const std::string& node) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const std::string* text : {&event.uid, &event.reason, &event.container, &event.message, &node})
    value = hash(value, *text);
  std::string pod = event.pod.substr(0, kLongestName - kHashDigits - 1);
  while (!pod.empty() && (pod.back() == '.' || pod.back() == '-')) pod.pop_back();
  return fmt::format("{}.{:016x}", pod.empty() ? "pod" : pod, value);
}

std::string cut(std::string_view text, std::size_t bytes) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= bytes) return std::string(text);
  return std::string(policy::cut(text, bytes - kMore.size())) + std::string(kMore);
}

bool isFinal(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

}  // namespace

std::string microTime(std::chrono::system_clock::time_point time) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (micros - seconds).count());
}

Node eventBody(const report::Event& event, const std::string& node, std::chrono::system_clock::time_point now) {
  const auto text = [](std::string value) { return Node::string(std::move(value)); };
  Node regarding = Node::map();
  regarding.set("apiVersion", text("v1")).set("kind", text("Pod")).set("namespace", text(event.nameSpace));
  regarding.set("name", text(event.pod)).set("uid", text(event.uid));
  if (!event.container.empty()) regarding.set("fieldPath", text(fmt::format("spec.containers{{{}}}", event.container)));
  Node metadata = Node::map();
  metadata.set("name", text(nameOf(event, node))).set("namespace", text(event.nameSpace));
  Node out = Node::map();
  out.set("apiVersion", text("events.k8s.io/v1")).set("kind", text("Event")).set("metadata", std::move(metadata));
  out.set("eventTime", text(microTime(now))).set("action", text("ProgramMemory")).set("reason", text(event.reason));
  out.set("reportingController", text(kController)).set("reportingInstance", text(cut(node, kLongestInstance)));
  out.set("regarding", std::move(regarding)).set("note", text(cut(event.message, kLongestNote)));
  return out.set("type", text("Warning"));
}

EventWriter::EventWriter(loop::Loop& loop, loop::Lane& lane, std::shared_ptr<Transport> transport, std::string node,
                         std::stop_token stop, EventPace pace)
    : loop_(loop),
      lane_(lane),
      transport_(std::move(transport)),
      node_(std::move(node)),
      stop_(std::move(stop)),
      pace_(pace),
      tokens_(pace.burst),
      refilled_(loop.now()),
      backOff_(pace.firstBackOff) {}

void EventWriter::tell(const report::Event& event) {
  if (queue_.size() >= pace_.longestQueue) {
    ++dropped_;
    return;
  }
  queue_.push_back({event, std::chrono::system_clock::now()});
  next();
}

void EventWriter::next() {
  if (busy_ || queue_.empty()) return;
  const loop::TimePoint now = loop_.now();
  tokens_ = std::min(pace_.burst, tokens_ + std::chrono::duration<double>(now - refilled_) / pace_.refill);
  refilled_ = now;
  if (tokens_ < 1) return retry(pace_.refill);
  tokens_ -= 1;
  send();
}

void EventWriter::send() {
  const Waiting& first = queue_.front();
  Request request{.method = "POST",
                  .path = fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", first.event.nameSpace)};
  request.body = document::dumpJson(eventBody(first.event, node_, first.when));
  request.deadline = request.idle = kDeadline;
  auto result = std::make_shared<Result<Response>>(fail(Code::timeout, "the request did not end"));
  busy_ = lane_.submit(
      kDeadline + kLaneGrace,
      [transport = transport_, request = std::move(request), stop = stop_, result] {
        *result = call(*transport, request, stop);
      },
      [this, result, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        busy_ = false;
        answered(outcome == loop::Lane::Outcome::lost ? Result<Response>(fail(Code::timeout, "lost")) : *result);
      });
  if (!busy_) retry(backOff_);
}

void EventWriter::answered(const Result<Response>& result) {
  ++requests_[{"create", "events", codeLabel(result.map([](const Response& r) { return r.head; }))}];
  const int status = result ? result->head.status : 0;
  constexpr int kConflict = 409;  // it is there already
  if ((status >= 200 && status < 300) || status == kConflict) {
    queue_.pop_front();
    backOff_ = pace_.firstBackOff;
    complained_ = false;
    return next();
  }
  const Refusal refusal = result ? refusalOf(result->head, result->body) : refusalOf(result.error());
  if (!std::exchange(complained_, true)) log::warning("an Event is not written", {{"error", refusal.text}});
  if (isFinal(status)) {
    queue_.pop_front();
    ++dropped_;
    return next();
  }
  const auto wait = std::max(backOff_, refusal.retryAfter.value_or(0s));
  backOff_ = std::min(2 * backOff_, pace_.longestBackOff);
  retry(wait);
}

void EventWriter::retry(std::chrono::seconds wait) {
  busy_ = true;
  timer_ = loop_.after(wait, [this] {
    busy_ = false;
    next();
  });
}

}  // namespace memqos::kube
