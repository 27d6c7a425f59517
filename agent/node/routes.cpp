#include "node/routes.h"

#include "control/restore.h"
#include "http/on_loop.h"
#include "report/explain.h"
#include "report/restore.h"
#include "report/top.h"

namespace memqos::node {
namespace {

constexpr auto kAnswerWithin = std::chrono::seconds(5);
constexpr auto kRestoreWithin = std::chrono::seconds(30);
constexpr auto kLagPeriod = std::chrono::seconds(1);

http::Response json(const document::Node& body, int status = 200) {
  return {status, http::kJson, document::dumpJson(body) + "\n"};
}

http::Response problem(int status, const std::string& sentence) {
  return json(document::Node::map().set("error", document::Node::string(sentence)), status);
}

void addCommon(http::Routes& routes, loop::Loop& loop, Agent& agent, metrics::Exposition& exposition) {
  routes.add("GET", "/metrics", [&](const http::Request&) {
    std::shared_ptr<const report::Snapshot> snapshot;
    // The page is rendered here, on the server's thread: only taking the values is the loop's work.
    http::Response taken = http::onLoop(loop, kAnswerWithin, [&] {
      snapshot = agent.snapshot();
      return http::Response{};
    });
    if (taken.status != 200) return taken;
    return http::Response{200, std::string(metrics::kContentType), exposition.text(snapshot)};
  });
  routes.add("GET", "/healthz", [&](const http::Request&) {
    return http::onLoop(loop, kAnswerWithin, [] { return http::Response{200, http::kText, "ok\n"}; });
  });
  routes.add("GET", "/readyz", [&](const http::Request&) {
    return http::onLoop(loop, kAnswerWithin, [&] {
      const auto snapshot = agent.freshSnapshot();  // readiness must not be a second old
      return snapshot->ready ? http::Response{200, http::kText, "ok\n"}
                             : http::Response{503, http::kText, snapshot->notReady + "\n"};
    });
  });
}

http::Response explain(const report::Snapshot& snapshot, const http::Request& request) {
  const auto pod = request.query.find("pod");
  if (pod == request.query.end()) return problem(400, "the query parameter pod=NAMESPACE/NAME is missing");
  const auto body = report::explainBody(snapshot, pod->second);
  if (!body)
    return problem(404, "no pod " + pod->second + " on this node asks memqos for anything, or it does not exist");
  return json(*body);
}

}  // namespace

http::Routes publicRoutes(loop::Loop& loop, Agent& agent, metrics::Exposition& exposition) {
  http::Routes routes;
  addCommon(routes, loop, agent, exposition);
  return routes;
}

http::Routes privateRoutes(loop::Loop& loop, Agent& agent, metrics::Exposition& exposition) {
  http::Routes routes;
  addCommon(routes, loop, agent, exposition);
  routes.add("GET", "/explain", [&](const http::Request& request) {
    return http::onLoop(loop, kAnswerWithin, [&agent, request] { return explain(*agent.freshSnapshot(), request); });
  });
  routes.add("GET", "/top", [&](const http::Request&) {
    return http::onLoop(loop, kAnswerWithin, [&] { return json(report::topBody(*agent.freshSnapshot())); });
  });
  routes.add("POST", "/restore", [&](const http::Request&) {
    return http::onLoopLater(loop, kRestoreWithin, [&](http::Reply reply) {
      agent.restoreAll([reply = std::move(reply)](const std::vector<control::Applied>& applied) {
        std::vector<report::RestoredFile> rows;
        rows.reserve(applied.size());
        for (const control::Applied& one : applied) rows.push_back(control::toRow(one));
        reply(json(report::restoreBody(rows)));
      });
    });
  });
  return routes;
}

LagMeter::LagMeter(loop::Loop& loop, metrics::Exposition& exposition) : loop_(loop), exposition_(exposition) {
  next();
}

void LagMeter::next() {
  due_ = loop_.now() + kLagPeriod;
  timer_ = loop_.at(due_, [this] {
    exposition_.observeLoopLag(loop_.now() - due_);
    next();
  });
}

}  // namespace memqos::node
