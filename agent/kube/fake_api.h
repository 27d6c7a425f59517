// For tests: the part of an API server that one node's agent sees, on a socket, with TLS.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "kube/fake_objects.h"
#include "testing/replay_server.h"

namespace memqos::kube {

// Lists, watches and Events of one node, as a test sets them.
class FakeApi {
 public:
  FakeApi() : server_([this](const auto& request, auto& connection) { serve(request, connection); }, identity()) {}
  static const testing::TlsIdentity& ca() {
    static const testing::TlsIdentity kCa = testing::makeCa("cluster");
    return kCa;
  }
  static const testing::TlsIdentity& identity() {
    static const testing::TlsIdentity kServer = testing::issue(ca(), "kube-apiserver", "IP:127.0.0.1");
    return kServer;
  }
  testing::ReplayServer& server() { return server_; }
  // What a list gives from now on.
  void setPods(std::string version, std::vector<std::string> pods) {
    const std::lock_guard lock(mutex_);
    version_ = std::move(version);
    pods_ = std::move(pods);
  }
  // A line for the watch that is open, or the next one.
  void push(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::atomic<int> daemonSetStatus{200};
  std::atomic<bool> away{false};      // every request breaks
  std::atomic<bool> podsAway{false};  // those for pods get 500
  [[nodiscard]] std::size_t count(const std::string& method, const std::string& path, bool watch = false) const {
    const auto requests = server_.requests();
    return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), [&](const auto& request) {
      return request.method == method && request.path() == path && (request.query("watch") == "1") == watch;
    }));
  }

 private:
  void serve(const testing::ReplayServer::Request& request, testing::ReplayServer::Connection& connection) {
    if (away) return connection.close();
    if (request.method == "POST") return connection.answer(201, request.body);
    if (request.path() == "/apis/apps/v1/namespaces/memqos-system/daemonsets/memqos")
      return connection.answer(daemonSetStatus, daemonSetStatus == 200
                                                    ? R"({"kind":"DaemonSet","metadata":{"name":"memqos"}})"
                                                    : R"({"kind":"Status","reason":"NotFound"})");
    const bool pods = request.path() == "/api/v1/pods";
    if (pods && podsAway) return connection.answer(500, R"({"kind":"Status","code":500})");
    if (request.query("watch") != "1") {
      const std::lock_guard lock(mutex_);
      if (pods) return connection.answer(200, listJson(version_, pods_));
      return connection.answer(
          200,
          listJson("1",
                   {R"({"metadata":{"name":"n1","resourceVersion":"1"},"status":{"allocatable":{"memory":"3Gi"}}})"}));
    }
    connection.beginChunks();
    while (!connection.waitForEnd(std::chrono::milliseconds(5)) && !away) {
      std::deque<std::string> lines;
      if (pods) {
        const std::lock_guard lock(mutex_);
        lines.swap(lines_);
      }
      for (const std::string& line : lines) connection.chunk(line);
      if (stopping()) break;
    }
    connection.close();
  }
  [[nodiscard]] bool stopping() const { return stopped_; }

  std::mutex mutex_;
  std::string version_ = "10";
  std::vector<std::string> pods_;
  std::deque<std::string> lines_;
  std::atomic<bool> stopped_{false};
  testing::ReplayServer server_;

 public:
  ~FakeApi() { stopped_ = true; }
};

}  // namespace memqos::kube
