#include "kube/cluster.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/log.h"
#include "kube/objects.h"

namespace memqos::kube {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kApiQueue = 64;
constexpr auto kAskDeadline = 3s;
constexpr auto kAskAgain = 1s;
constexpr auto kLookAgain = 30s;        // after no answer
constexpr auto kLookAgainLate = 10min;  // after a no
constexpr auto kLaneGrace = 5s;

std::function<double()> chance() {
  return [generator = std::mt19937(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0.0, 1.0)(generator);
  };
}

// A source has one request at a time, and what was not begun can be forgotten.
std::unique_ptr<loop::Lane> watchLane(loop::Loop& loop, const char* name) {
  return loop::makeLane(loop, name, 1, 2);
}

Resource podsOf(const std::string& node) {
  return {"pods", "/api/v1/pods", "spec.nodeName=" + node, [](const document::Node& object) -> std::optional<std::any> {
            auto decoded = decodePod(object);
            if (!decoded) return std::nullopt;
            if (decoded->annotationsLeftOut > 0)
              log::debug("annotations of a pod are left out: it has too many",
                         {{"pod", keyOf(object)}, {"count", decoded->annotationsLeftOut}});
            return std::any(std::move(decoded->record));
          }};
}

Resource nodeNamed(const std::string& node) {
  return {"nodes", "/api/v1/nodes", "metadata.name=" + node,
          [](const document::Node& object) -> std::optional<std::any> {
            const auto allocatable = decodeAllocatable(object);
            if (!allocatable) return std::nullopt;
            return std::any(*allocatable);
          }};
}

}  // namespace

Cluster::Cluster(loop::Loop& loop, std::shared_ptr<Transport> transport, ClusterOptions options, Callbacks callbacks)
    : loop_(loop),
      transport_(std::move(transport)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      apiLane_(loop::makeLane(loop, "api", 1, kApiQueue)),
      events_(loop, *apiLane_, transport_, options_.node, stop_.get_token()) {
  podSource_ = std::make_unique<Source>(
      loop_, watchLane(loop_, "watch-pods"), transport_, podsOf(options_.node),
      Source::Callbacks{[this](std::vector<Object> objects) { podsReplaced(std::move(objects)); },
                        [this](Object object) { setPod(std::move(object)); },
                        [this](const std::string& key) {
                          if (pods_.erase(key) > 0) changed();
                        },
                        [] {}},
      options_.tuning, chance());
  nodeSource_ = std::make_unique<Source>(
      loop_, watchLane(loop_, "watch-node"), transport_, nodeNamed(options_.node),
      Source::Callbacks{[this](const std::vector<Object>& objects) {
                          for (const Object& object : objects) nodeSet(object);
                        },
                        [this](const Object& object) { nodeSet(object); }, [](const std::string&) {}, [] {}},
      options_.tuning, chance());
}

Cluster::~Cluster() {
  stop_.request_stop();
  podSource_.reset();
  nodeSource_.reset();
  apiLane_.reset();
}

void Cluster::start() {
  podSource_->start();
  nodeSource_->start();
  lookForDaemonSet();
}

bool Cluster::synced() const {
  return podSource_->synced();
}

std::string Cluster::notReady() const {
  if (synced()) return {};
  const std::string& problem = podSource_->problem();
  return "the first list of this node's pods has not come yet" + (problem.empty() ? std::string() : ": " + problem);
}

// All at once.
void Cluster::podsReplaced(std::vector<Object> objects) {
  std::map<std::string, PodRecord> fresh;
  for (Object& object : objects) fresh[object.key] = std::any_cast<PodRecord>(std::move(object.value));
  pods_ = std::move(fresh);
  log::info("the pods of this node are known", {{"node", options_.node}, {"pods", pods_.size()}});
  changed();  // also when nothing differs: the first list of a node without pods makes the agent ready
}

void Cluster::setPod(Object object) {
  auto record = std::any_cast<PodRecord>(std::move(object.value));
  const auto [entry, isNew] = pods_.try_emplace(object.key);
  // Most changes of a pod are none to memqos.
  if (!isNew && entry->second == record) return;
  entry->second = std::move(record);
  changed();
}

void Cluster::changed() {
  if (std::exchange(changeUnderWay_, true)) return;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    changeUnderWay_ = false;
    callbacks_.podsChanged();
  });
}

void Cluster::nodeSet(const Object& object) {
  callbacks_.allocatable(std::any_cast<Bytes>(object.value));
}

void Cluster::askDaemonSet(const Answer& answer) {
  Request request{.path =
                      fmt::format("/apis/apps/v1/namespaces/{}/daemonsets/{}", options_.nameSpace, options_.daemonSet)};
  request.deadline = request.idle = kAskDeadline;
  auto result = std::make_shared<Result<Response>>(fail(Code::timeout, "the request did not end"));
  const bool queued = apiLane_->submit(
      kAskDeadline + kLaneGrace,
      [transport = transport_, request = std::move(request), stop = stop_.get_token(), result] {
        *result = call(*transport, request, stop);
      },
      [this, result, answer, alive = std::weak_ptr<bool>(alive_)](loop::Lane::Outcome outcome) {
        if (alive.expired()) return;
        const bool lost = outcome == loop::Lane::Outcome::lost;
        const Result<Response> told = lost ? Result<Response>(fail(Code::timeout, "lost")) : *result;
        ++requests_[{"get", "daemonsets", codeLabel(told.map([](const Response& r) { return r.head; }))}];
        answer(told);
      });
  if (!queued) {
    timer_ = loop_.after(kAskAgain, [answer] { answer(fail(Code::again, "too many requests wait")); });
  }
}

// Whether it can be found at all: a wrong name or a missing right must not look like an uninstall later.
void Cluster::lookForDaemonSet() {
  if (options_.daemonSet.empty() || options_.nameSpace.empty()) return;
  askDaemonSet([this](const Result<Response>& answer) {
    const int status = answer ? answer->head.status : 0;
    daemonSetSeen_ = daemonSetSeen_ || status == 200;
    if (daemonSetSeen_ || uninstalledAnswer_) return;
    const bool refused = status == 403 || status == 404;
    if (refused && !std::exchange(daemonSetMissed_, true))
      log::warning("the agent's own DaemonSet is not found: an uninstall will not be noticed",
                   {{"daemonSet", options_.nameSpace + "/" + options_.daemonSet}, {"status", status}});
    timer_ = loop_.after(refused ? loop::Duration(kLookAgainLate) : loop::Duration(kLookAgain),
                         [this] { lookForDaemonSet(); });
  });
}

void Cluster::askUninstalled(std::function<void(bool)> answer) {
  if (!daemonSetSeen_) return answer(false);
  uninstalledAnswer_ = std::move(answer);
  askAgain();
}

void Cluster::askAgain() {
  askDaemonSet([this](const Result<Response>& answer) {
    switch (judge_.answered(loop_.now(), answer)) {
      case UninstallJudge::Verdict::askAgain:
        timer_ = loop_.after(kAskAgain, [this] { askAgain(); });
        return;
      case UninstallJudge::Verdict::uninstalled:
        return uninstalledAnswer_(true);
      case UninstallJudge::Verdict::keep:
        return uninstalledAnswer_(false);
    }
  });
}

RequestCounts Cluster::requests() const {
  RequestCounts out = requests_;
  for (const RequestCounts* counts : {&podSource_->requests(), &nodeSource_->requests(), &events_.requests()}) {
    for (const auto& [labels, count] : *counts) out[labels] += count;
  }
  return out;
}

std::map<std::string, std::uint64_t> Cluster::restarts() const {
  auto out = podSource_->restarts();
  for (const auto& [reason, count] : nodeSource_->restarts()) out[reason] += count;
  return out;
}

}  // namespace memqos::kube
