#include "node/node.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "cgroup/stat.h"
#include "control/lock.h"
#include "control/spawned_watchdog.h"
#include "http/server.h"
#include "kube/transport/cpprest.h"
#include "node/agent.h"
#include "node/process.h"
#include "node/routes.h"
#include "proc/boot.h"

namespace memqos::node {
namespace {

constexpr int kMisconfigured = 1;
constexpr int kNodeLacks = 2;
constexpr std::size_t kMemInfoCap = 64 * 1024;

int refuse(int status, std::string_view what, const Error& error) {
  log::error(what, {{"error", error.text()}});
  return status;
}

Result<policy::NodeFacts> nodeFacts() {
  auto text = readFile("/proc/meminfo", kMemInfoCap);
  if (!text) return tl::unexpected(std::move(text.error()));
  const auto info = cgroup::parseMemInfo(*text);
  if (!info) return tl::unexpected(info.error());
  return policy::NodeFacts{info->total, Bytes{::sysconf(_SC_PAGESIZE)}};
}

std::unique_ptr<control::Watchdog> startWatchdog(const Options& options, const cgroup::Root& root, int lock) {
  const std::string helper = options.helperPath.empty() ? control::helperBesideAgent() : options.helperPath;
  const Fd procs(::openat(root.fd(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  auto watchdog = control::SpawnedWatchdog::spawn({helper, lock, procs.get()});
  if (!watchdog) {
    log::warning("no watchdog: memory.high is off", {{"helper", helper}, {"error", watchdog.error().text()}});
    return std::make_unique<control::NoWatchdog>();
  }
  if (!(*watchdog)->available()) {
    log::warning("the watchdog could not move to the root cgroup: memory.high is off", {{"helper", helper}});
  }
  return std::move(*watchdog);
}

// All of it before the first thread.
struct Foundation {
  config::Config config;
  Fd lock;
  Ground ground;
};

tl::expected<Foundation, int> lay(const Options& options) {
  prepareProcess();
  Foundation out;
  kube::Access access;
  if (options.inCluster()) {
    kube::distrustSystemStore();
    auto found = options.kubeconfig.empty() ? kube::inClusterAccess(kube::processEnvironment)
                                            : kube::readKubeconfig(options.kubeconfig);
    if (!found) return tl::unexpected(refuse(kMisconfigured, "cannot reach a cluster", found.error()));
    access = std::move(*found);
    if (auto joined = joinHostCgroupNamespace(); !joined)
      log::warning("the watchdog will not reach the root cgroup", {{"error", joined.error().text()}});
  }
  auto loaded = config::load(options.configDir, options.configMayBeMissing);
  if (!loaded) return tl::unexpected(refuse(kMisconfigured, "the configuration cannot be read", loaded.error()));
  bool bad = false;
  for (const policy::Finding& finding : loaded->findings) {
    report::writeLog(report::toEvent(finding));
    bad = bad || policy::severityOf(finding.reason) == policy::Severity::error;
  }
  if (bad) return tl::unexpected(kMisconfigured);
  out.config = std::move(loaded->config);

  auto hierarchy = cgroup::discover();
  if (!hierarchy) return tl::unexpected(refuse(kNodeLacks, "this node cannot be served", hierarchy.error()));
  if (auto usable = cgroup::requireProgrammable(*hierarchy); !usable)
    log::warning("pods are found and measured, nothing is programmed",
                 {{"reason", "Unsupported"}, {"error", usable.error().text()}});
  if (!hierarchy->note.empty()) log::warning(hierarchy->note);
  if (auto host = requireHostTree(hierarchy->root); options.inCluster() && !host)
    return tl::unexpected(refuse(kNodeLacks, "this node cannot be served", host.error()));
  auto root = cgroup::Root::open(hierarchy->root);
  if (!root) return tl::unexpected(refuse(kNodeLacks, "this node cannot be served", root.error()));
  auto facts = nodeFacts();
  if (!facts) return tl::unexpected(refuse(kNodeLacks, "this node cannot be served", facts.error()));
  auto bootId = proc::bootId();
  if (!bootId) return tl::unexpected(refuse(kNodeLacks, "this node cannot be served", bootId.error()));

  auto lock = control::lockRunDir(options.runDir);
  if (!lock) return tl::unexpected(refuse(kMisconfigured, "cannot run here", lock.error()));
  out.lock = std::move(*lock);
  auto journal = control::Journal::open(options.runDir, *bootId);
  if (!journal) return tl::unexpected(refuse(kMisconfigured, "cannot run here", journal.error()));
  if (!(*journal)->note().empty()) log::error((*journal)->note(), {{"reason", "JournalUnreadable"}});

  out.ground.features = cgroup::probe(*root, *hierarchy);
  for (const cgroup::Feature& feature : out.ground.features) {
    const bool lacking = feature.known && !feature.available;
    log::write(lacking ? log::Level::info : log::Level::debug, lacking ? "this node lacks a feature" : "feature",
               {{"feature", feature.name}, {"evidence", feature.evidence}});
  }
  auto watchdog =
      hierarchy->version == 2 ? startWatchdog(options, *root, out.lock.get()) : std::make_unique<control::NoWatchdog>();
  if (options.inCluster()) {  // its threads come after the watchdog
    auto transport = kube::makeTransport(std::move(access));
    if (!transport) return tl::unexpected(refuse(kMisconfigured, "cannot reach a cluster", transport.error()));
    out.ground.transport = std::move(*transport);
  }
  out.ground.hierarchy = std::move(*hierarchy);
  out.ground.root = std::make_shared<const cgroup::Root>(std::move(*root));
  out.ground.facts = *facts;
  out.ground.writer =
      std::make_shared<control::Writer>(std::make_unique<control::Files>(), std::move(*journal), std::move(watchdog));
  return out;
}

}  // namespace

int run(const Options& options) {
  auto foundation = lay(options);
  if (!foundation) return foundation.error();
  auto loop = loop::makeLoop();
  if (!loop) return refuse(kNodeLacks, "cannot start the event loop", loop.error());
  metrics::Exposition exposition({.maxSeries = foundation->config.metricsMaxSeries});
  const std::string listen = options.listen.value_or(foundation->config.metricsListen);
  Agent agent(options, std::move(foundation->config), std::move(foundation->ground), **loop, exposition);

  const auto terminate = (*loop)->onSignal(SIGTERM, [&] { agent.stop(); });
  const auto interrupt = (*loop)->onSignal(SIGINT, [&] { agent.stop(); });
  const auto hangUp = (*loop)->onSignal(SIGHUP, [&] { agent.reload(); });
  for (const auto* handle : {&terminate, &interrupt, &hangUp}) {
    if (!*handle) return refuse(kNodeLacks, "cannot take signals", handle->error());
  }
  if (auto started = agent.start(); !started) return refuse(kMisconfigured, "cannot start", started.error());
  LagMeter lag(**loop, exposition);

  auto metricsServer = http::Server::onTcp(listen, publicRoutes(**loop, agent, exposition));
  if (!metricsServer) return refuse(kMisconfigured, "cannot serve metrics", metricsServer.error());
  auto socketServer = http::Server::onUnix(options.runDir + "/agent.sock", privateRoutes(**loop, agent, exposition));
  if (!socketServer) return refuse(kMisconfigured, "cannot serve the command line", socketServer.error());
  log::info("memqos-agent runs",
            {{"version", version()}, {"port", (*metricsServer)->port()}, {"runDir", options.runDir}});
  return (*loop)->run();
}

}  // namespace memqos::node
