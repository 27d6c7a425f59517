// One resource of the API server, followed: a Reflector, a thread that lists and watches, and the loop where the result
// arrives.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "document/node.h"
#include "kube/reflector.h"
#include "kube/transport/transport.h"
#include "loop/lane.h"
#include "loop/loop.h"

namespace memqos::kube {

// {verb, resource, code} -> requests.
using RequestCounts = std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t>;

struct Object {
  std::string key;  // "NAMESPACE/NAME"
  std::any value;   // what the decoder made of it
};

struct Resource {
  std::string name;           // "pods"
  std::string path;           // "/api/v1/pods"
  std::string fieldSelector;  // "spec.nodeName=NODE"
  // Called on the watching thread, so that an object is small before it travels. nullopt: not to be used, as if absent.
  std::function<std::optional<std::any>(const document::Node&)> decode;
};

class Source {
 public:
  // All on the loop's thread. Nothing of it may destroy the source.
  struct Callbacks {
    std::function<void(std::vector<Object>)> replace;  // a whole list: what is not in it is gone
    std::function<void(Object)> set;
    std::function<void(const std::string& key)> remove;
    std::function<void()> state;  // synced() or problem() changed
  };
  Source(loop::Loop& loop, std::unique_ptr<loop::Lane> lane, std::shared_ptr<Transport> transport, Resource resource,
         Callbacks callbacks, ReflectorTuning tuning, std::function<double()> random);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void start();
  [[nodiscard]] bool synced() const { return reflector_.synced(); }
  [[nodiscard]] const std::string& problem() const { return reflector_.problem(); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& restarts() const { return reflector_.restarts(); }
  [[nodiscard]] const RequestCounts& requests() const { return requests_; }

 private:
  struct Job;       // what the watching thread needs
  struct ListDone;  // what it brings back
  struct WatchDone;
  struct Change;
  class Gate;
  static ListDone list(const Job& job, const List& action);
  static WatchDone watch(const Job& job, const Watch& action, const std::function<bool(Change)>& deliver,
                         const std::function<void()>& opened);
  void perform(Action action);
  void performList(const List& action);
  void performWatch(const Watch& action);
  void listed(const List& action, ListDone done);
  void watched(const WatchDone& done);
  void changed(Change change);
  void submit(Duration deadline, std::function<void()> work, const std::function<void(bool lost)>& done);
  void tellState();

  loop::Loop& loop_;
  std::shared_ptr<const Job> job_;
  Callbacks callbacks_;
  ReflectorTuning tuning_;
  Reflector reflector_;
  std::vector<Object> pages_;  // of a list that is not complete yet
  RequestCounts requests_;
  std::string toldProblem_;
  bool toldSynced_ = false;
  loop::Handle timer_;
  std::stop_source stop_;
  std::shared_ptr<Gate> gate_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<loop::Lane> lane_;
};

}  // namespace memqos::kube
