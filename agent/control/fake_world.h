// For this room's tests: a controller on a fake tree, with a virtual clock and lanes that run when a test says so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "control/fake_watchdog.h"
#include "loop/fake_lane.h"
#include "loop/fake_loop.h"
#include "testing/fake_tree.h"

namespace memqos::control {

inline const std::string kSlice = "kubepods.slice";
inline const std::string kPod = "kubepods.slice/pod";
inline const std::string kContainer = "kubepods.slice/pod/c";

// Records the order of writes on top of the real ones.
class RecordingFiles final : public Files {
 public:
  explicit RecordingFiles(std::vector<std::string>& log) : log_(log) {}
  Status write(const cgroup::Cgroup& cgroup, cgroup::File file, Limit value) override {
    log_.push_back(cgroup.path() + " " + cgroup::name(file) + " " + toText(value));
    return Files::write(cgroup, file, value);
  }

 private:
  std::vector<std::string>& log_;
};

class ControllerWorld : public ::testing::Test {
 protected:
  ControllerWorld() {
    root_.emplace(*cgroup::Root::open(tree_.path("cgroup")));
    start();
  }
  void start() {
    auto watchdog = std::make_unique<FakeWatchdog>();
    watchdog_ = watchdog.get();
    writer_ = std::make_shared<Writer>(std::make_unique<RecordingFiles>(writes_),
                                       std::move(*Journal::open(tree_.path("run"), "boot")), std::move(watchdog));
    Controller::Callbacks callbacks;
    callbacks.applied = [this](const Applied& applied) { applied_.push_back(applied); };
    callbacks.drifted = [this](const FileEntry& entry, bool kubelet) {
      drifts_.push_back(entry.cgroup->path() + " " + cgroup::name(entry.file) + (kubelet ? " kubelet" : " unknown"));
    };
    callbacks.escaped = [this](const FileEntry&, Limit to) { escapes_.push_back(to); };
    callbacks.stalled = [this](const FileEntry&) { ++stalls_; };
    callbacks.replan = [this] { ++replans_; };
    callbacks.latency = [this](const std::string& trigger, loop::Duration) { triggers_.push_back(trigger); };
    controller_ = std::make_unique<Controller>(loop_, control_, reclaim_, writer_, true, callbacks);
  }
  cgroup::Handle at(const std::string& path) { return *root_->find(path); }
  Target target(const std::string& path, cgroup::File file, Limit value, Role role = Role::container) {
    return {at(path), file, value, role};
  }
  void settle() {
    loop_.settle();
    while (control_.runAll() > 0) loop_.settle();
  }
  void foreign(const std::string& path, cgroup::File file, const std::string& value) {
    tree_.write("cgroup/" + path + "/" + cgroup::name(file), value + "\n");
    controller_->modified(at(path)->id(), cgroup::name(file));
  }
  std::string text(const std::string& path, cgroup::File file) {
    std::string text = tree_.read("cgroup/" + path + "/" + cgroup::name(file));
    if (text.ends_with("\n")) text.pop_back();
    return text;
  }

  testing::FakeTree tree_{
      testing::dir(
          "cgroup",
          {testing::dir(
              "kubepods.slice",
              {testing::cgroupFiles(),
               testing::dir("pod", {testing::cgroupFiles(),
                                    testing::dir("c", {testing::cgroupFiles({{"memory.current", "104857600"},
                                                                             {"cgroup.events", "populated 1"}})})})})}),
      testing::dir("run")};
  std::optional<cgroup::Root> root_;
  loop::FakeLoop loop_;
  loop::FakeLane control_{loop_};
  loop::FakeLane reclaim_{loop_};
  std::vector<std::string> writes_, drifts_, triggers_;
  std::vector<Applied> applied_;
  std::vector<Limit> escapes_;
  int stalls_ = 0;
  int replans_ = 0;
  std::shared_ptr<Writer> writer_;
  FakeWatchdog* watchdog_ = nullptr;
  std::unique_ptr<Controller> controller_;
};

}  // namespace memqos::control
