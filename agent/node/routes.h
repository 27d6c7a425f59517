// What the agent answers over HTTP.
#pragma once

#include "http/server.h"
#include "loop/loop.h"
#include "metrics/exposition.h"
#include "node/agent.h"

namespace memqos::node {

// On TCP: /metrics, /healthz, /readyz. Nothing there changes anything or names more than metrics do.
http::Routes publicRoutes(loop::Loop& loop, Agent& agent, metrics::Exposition& exposition);
// On the unix socket, for root: the same, and GET /explain?pod=NAMESPACE/NAME, GET /top, POST /restore.
http::Routes privateRoutes(loop::Loop& loop, Agent& agent, metrics::Exposition& exposition);

// Observes how late the loop comes to its timers.
class LagMeter {
 public:
  LagMeter(loop::Loop& loop, metrics::Exposition& exposition);

 private:
  loop::Loop& loop_;
  metrics::Exposition& exposition_;
  loop::TimePoint due_;
  loop::Handle timer_;
  void next();
};

}  // namespace memqos::node
