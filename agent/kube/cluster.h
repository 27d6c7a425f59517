// The cluster as one node sees it: its pods, its Node object, Events, and whether the agent is being uninstalled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "kube/events.h"
#include "kube/pods.h"
#include "kube/source.h"
#include "kube/uninstall.h"
#include "loop/lane.h"
#include "loop/loop.h"

namespace memqos::kube {

struct ClusterOptions {
  std::string node;                  // metadata.name of our Node
  std::string nameSpace, daemonSet;  // of the agent itself; empty: no uninstall detection
  ReflectorTuning tuning{};
};

// On the loop's thread; threads of its own wait for the API server. Must be destroyed before the loop.
class Cluster {
 public:
  struct Callbacks {
    std::function<void()> podsChanged;  // once for a burst
    std::function<void(Bytes)> allocatable;
  };
  Cluster(loop::Loop& loop, std::shared_ptr<Transport> transport, ClusterOptions options, Callbacks callbacks);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  void start();
  // By "NAMESPACE/NAME". Stays as it is while the API server cannot be reached.
  [[nodiscard]] const std::map<std::string, PodRecord>& pods() const { return pods_; }
  [[nodiscard]] bool synced() const;
  [[nodiscard]] std::string notReady() const;  // a sentence; empty once the first list came

  void tell(const report::Event& event) { events_.tell(event); }
  // Within about 15 s, at once if nothing can be known: true, the agent's DaemonSet is deleted, gone, or nothing of it
  // may be asked any more.
  void askUninstalled(std::function<void(bool)> answer);

  [[nodiscard]] RequestCounts requests() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> restarts() const;  // of watches, by reason
  [[nodiscard]] std::uint64_t droppedEvents() const { return events_.dropped(); }

 private:
  using Answer = std::function<void(const Result<Response>&)>;
  void podsReplaced(std::vector<Object> objects);
  void setPod(Object object);
  void changed();
  void nodeSet(const Object& object);
  void askDaemonSet(const Answer& answer);
  void lookForDaemonSet();
  void askAgain();

  loop::Loop& loop_;
  std::shared_ptr<Transport> transport_;
  ClusterOptions options_;
  Callbacks callbacks_;
  std::stop_source stop_;
  std::map<std::string, PodRecord> pods_;
  bool changeUnderWay_ = false;
  bool daemonSetSeen_ = false;    // else its absence says nothing
  bool daemonSetMissed_ = false;  // and that was said
  UninstallJudge judge_;
  std::function<void(bool)> uninstalledAnswer_;
  RequestCounts requests_;
  loop::Handle timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<loop::Lane> apiLane_;
  EventWriter events_;
  std::unique_ptr<Source> podSource_, nodeSource_;
};

}  // namespace memqos::kube
