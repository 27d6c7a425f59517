#include "node/survey.h"

#include <algorithm>
#include <filesystem>

#include "cgroup/layout.h"
#include "control/fake_watchdog.h"
#include "control/merge.h"
#include "policy/testing.h"
#include "testing/layouts.h"
#include "testing/touch_watch.h"

namespace memqos::node {
namespace {

using testing::cgroupFiles;
using testing::dir;
using testing::FakeTree;
using testing::Layout;
using testing::LayoutEntry;

const std::string kBurstable = "kubepods.slice/kubepods-burstable.slice";
const std::string kPodName = "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice";
const std::string kScopeName = "cri-containerd-" + std::string(64, 'a') + ".scope";
const std::string kPod = kBurstable + "/" + kPodName;
const std::string kScope = kPod + "/" + kScopeName;

SurveyRequest::Pod podAt(const std::string& uid, const std::string& pod, const std::string& container = {}) {
  SurveyRequest::Pod out;
  out.uid = uid;
  out.keys.names = {"app"};
  if (!pod.empty()) out.keys.pod = cgroup::PathKey{"memqos.io/cgroup", pod};
  if (!container.empty()) out.keys.containers["app"] = cgroup::PathKey{"cgroup.memqos.io/app", container};
  return out;
}

// A tree, and all that looks at it and writes to it.
class World {
 public:
  FakeTree& tree() { return tree_; }
  Survey look(const std::vector<SurveyRequest::Pod>& pods) {
    SurveyRequest request;
    request.pods = pods;
    return survey(request, root_, writer_, cache_);
  }
  // Containers with memory-min 64Mi, planned from what was found and written.
  void program(const Survey& found) {
    for (const control::Target& target : control::merge(mergeInput(found))) {
      control::Change change;
      change.cgroup = target.cgroup;
      change.file = target.file;
      change.value = target.value;
      const auto outcome = writer_.apply({change}).at(0).outcome;
      EXPECT_TRUE(outcome == control::Outcome::written || outcome == control::Outcome::same) << target.cgroup->path();
    }
  }

 private:
  static control::MergeInput mergeInput(const Survey& found) {
    control::MergeInput input;
    input.allocatable = mebibytes(64 * 1024);
    input.shareMin = *parsePercent("50%");
    input.shareLow = *parsePercent("80%");
    for (const auto& [uid, pod] : found.pods) {
      const auto plan = policy::planOf(policy::podOf("1Gi", "2Gi", {{"memqos.io/memory-min", "64Mi"}}), pod.facts);
      control::MergePod merged;
      merged.cgroup = pod.cgroup;
      merged.inKubepods = pod.inKubepods;
      for (const auto& [name, handle] : pod.containers) merged.containers.push_back({plan.containers.at(0), handle});
      input.pods.push_back(std::move(merged));
    }
    for (const auto& [path, ancestor] : found.ancestors) {
      if (ancestor.inKubepods) input.ancestors.push_back({ancestor.cgroup, ancestor.baseline, ancestor.outside});
    }
    return input;
  }

  FakeTree tree_{dir("cg"), dir("run")};
  cgroup::Root root_ = *cgroup::Root::open(tree_.path("cg"));
  control::Writer writer_{std::make_unique<control::Files>(),
                          std::move(*control::Journal::open(tree_.path("run"), "boot")),
                          std::make_unique<control::FakeWatchdog>()};
  SurveyCache cache_;
};

class SurveyTest : public ::testing::Test {
 protected:
  SurveyTest() {
    const auto pod = dir(kPodName, {cgroupFiles({{"memory.max", "1073741824"}}), dir(kScopeName, {cgroupFiles()})});
    world_.tree().add("cg", {dir("kubepods.slice", {cgroupFiles({{"memory.max", "8330567680"}}),
                                                    dir("kubepods-burstable.slice", {cgroupFiles(), pod})}),
                             dir("system.slice", {cgroupFiles(), dir("db.service", {cgroupFiles()})})});
  }
  std::string text(const std::string& path) { return world_.tree().read("cg/" + path); }
  World world_;
};

// kubernetes#138452: a limit that was read from a cgroup of the wrong level.
TEST_F(SurveyTest, TheLimitIsOfTheContainerAndItsPodNeverOfASlice) {
  const auto limit = [&] {
    return world_.look({podAt("u", kPod, kScope)}).pods.at("u").facts.containers.at("app").limit;
  };
  EXPECT_EQ(limit(), Limit(mebibytes(1024)));
  world_.tree().write("cg/" + kScope + "/memory.max", "536870912\n");
  EXPECT_EQ(limit(), Limit(mebibytes(512)));
  world_.tree().write("cg/" + kScope + "/memory.max", "max\n");
  world_.tree().write("cg/" + kPod + "/memory.max", "max\n");
  EXPECT_EQ(limit(), Limit::max());
  EXPECT_EQ(world_.look({podAt("u", kPod, kScope)}).pods.at("u").facts.podLimit, Limit::max());
}

// containerd#11217: containers that are older than the agent stayed without a policy.
TEST_F(SurveyTest, WhatWasThereBeforeTheAgentIsServed) {
  world_.program(world_.look({podAt("u", kPod, kScope)}));
  for (const std::string& path : {kScope, kPod, kBurstable, std::string("kubepods.slice")})
    EXPECT_EQ(text(path + "/memory.min"), "67108864") << path;
}

// koordinator#2550: a finished pod has no cgroup; looking for it is neither a problem nor work.
TEST_F(SurveyTest, APodWithoutCgroupsWaitsQuietly) {
  const std::string gone = kBurstable + "/kubepods-burstable-pod99999999_0000_4000_8000_000000000000.slice";
  for (int round = 0; round < 3; ++round) {
    const Survey found = world_.look({podAt("done", gone, gone + "/x"), podAt("u", kPod, kScope)});
    const SurveyedPod& done = found.pods.at("done");
    EXPECT_TRUE(done.problems.empty());
    EXPECT_TRUE(done.containers.empty());
    EXPECT_EQ(done.cgroup, nullptr);
    EXPECT_EQ(found.pods.at("u").containers.size(), 1U);
    const auto waits = [](const cgroup::Handle& handle) { return handle->path() == kBurstable; };
    EXPECT_TRUE(std::any_of(found.waitingAt.begin(), found.waitingAt.end(), waits)) << "told, not polled";
  }
}

// convox/agent#16: a container that ended between one look and the next.
TEST_F(SurveyTest, AContainerThatEndedIsGoneAndItsSuccessorIsAnother) {
  const cgroup::Handle first = world_.look({podAt("u", kPod, kScope)}).pods.at("u").containers.at("app");
  world_.tree().remove("cg/" + kScope);
  const Survey without = world_.look({podAt("u", kPod, kScope)});
  EXPECT_TRUE(without.pods.at("u").containers.empty());
  EXPECT_TRUE(without.pods.at("u").problems.empty());
  world_.tree().add("cg/" + kPod, {dir(kScopeName, {cgroupFiles()})});
  const cgroup::Handle next = world_.look({podAt("u", kPod, kScope)}).pods.at("u").containers.at("app");
  EXPECT_NE(next->id(), first->id());
}

// katalyst-core: state by the name of a pod was shared by two namespaces and passed to the next pod of a StatefulSet.
TEST_F(SurveyTest, PodsAreToldApartByTheirUidOnly) {
  const std::string other = "system.slice/db.service";
  const Survey both = world_.look({podAt("u-a", kPod, kScope), podAt("u-b", "", other)});
  EXPECT_EQ(both.pods.at("u-a").containers.at("app")->path(), kScope);
  EXPECT_EQ(both.pods.at("u-b").containers.at("app")->path(), other);
  const Survey next = world_.look({podAt("u-c", "", other)});
  EXPECT_EQ(next.pods.size(), 1U);
  EXPECT_EQ(next.pods.count("u-a"), 0U);
}

// oomd: one cgroup that could not be read stopped the loop for all.
TEST_F(SurveyTest, APodThatCannotBeReadStopsNoOther) {
  world_.tree().add("cg", {testing::link("loop", "loop"), testing::file("plain", ""), dir("bare")});
  const Survey found = world_.look(
      {podAt("a", "loop"), podAt("b", "plain/x"), podAt("c", "bare"), podAt("d", "a/../b"), podAt("u", kPod, kScope)});
  EXPECT_EQ(found.pods.at("a").problems.size(), 1U);
  EXPECT_EQ(found.pods.at("b").problems.size(), 1U);
  EXPECT_EQ(found.pods.at("c").facts.containers.at("app").limit, std::nullopt);
  EXPECT_EQ(found.pods.at("d").problems.size(), 1U);
  EXPECT_EQ(found.pods.at("u").containers.size(), 1U);
}

// koordinator#895: a cgroup outside of kubepods is served; what stands above it belongs to others.
TEST_F(SurveyTest, OutsideOfKubepodsNothingAboveIsHeld) {
  const Survey found = world_.look({podAt("u", "", "system.slice/db.service")});
  EXPECT_FALSE(found.pods.at("u").inKubepods);
  EXPECT_FALSE(found.ancestors.at("system.slice").inKubepods);
  world_.program(found);
  EXPECT_EQ(text("system.slice/db.service/memory.min"), "67108864");
  EXPECT_EQ(text("system.slice/memory.min"), "0\n");
}

const LayoutEntry* firstContainer(const Layout& layout) {
  const auto found = std::find_if(layout.entries.begin(), layout.entries.end(),
                                  [](const LayoutEntry& entry) { return entry.kind == "container"; });
  return found == layout.entries.end() ? nullptr : &*found;
}

// On v1 nothing is programmed, and some nodes have no Kubernetes.
std::vector<Layout> layoutsToServe() {
  std::vector<Layout> out = testing::layouts();
  std::erase_if(out, [](const Layout& layout) { return layout.version != 2 || firstContainer(layout) == nullptr; });
  return out;
}

class KnownPod : public ::testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Recorded, KnownPod, ::testing::ValuesIn(layoutsToServe()), testing::NamedByLayout());

// The cgroups of every other pod and container, and what the known container made below itself.
std::vector<std::string> othersThan(const std::string& known, const std::string& pod, const Layout& layout) {
  std::vector<std::string> out;
  for (const LayoutEntry& entry : layout.entries) {
    if (entry.path == known || cgroup::isBelow(known, entry.path)) continue;
    const bool ofPods = cgroup::parsePodPath(entry.path) || (!pod.empty() && cgroup::isBelow(entry.path, pod));
    if (ofPods || cgroup::isBelow(entry.path, known)) out.push_back("cg/" + entry.path);
  }
  return out;
}

// talos#6071: agents that took every pod in the tree for theirs. In each layout one container is served, and nothing of
// any other pod is even opened.
TEST_P(KnownPod, IsServedAndNoOtherIsTouched) {
  const Layout& layout = GetParam();
  const LayoutEntry* known = firstContainer(layout);
  World world;
  testing::build(world.tree(), "cg", layout, cgroupFiles());
  const std::string pod = cgroup::parsePodPath(known->path)->pod;
  const auto others = othersThan(known->path, pod, layout);
  ASSERT_FALSE(others.empty());
  std::vector<std::string> directories;
  for (const std::string& other : others) directories.push_back(world.tree().path(other));
  const testing::TouchWatch watch(directories);
  for (int round = 0; round < 2; ++round) world.program(world.look({podAt("u", pod, known->path)}));
  EXPECT_THAT(watch.touched(), ::testing::IsEmpty());
  EXPECT_EQ(world.tree().read("cg/" + known->path + "/memory.min"), "67108864");
  if (!pod.empty()) {
    EXPECT_EQ(world.tree().read("cg/" + layout.pods + "/memory.min"), "67108864");
  }
  EXPECT_NE(world.tree().read(others.front() + "/memory.min"), "");
  EXPECT_THAT(watch.touched(), ::testing::Not(::testing::IsEmpty())) << "the watch itself works";
}

}  // namespace
}  // namespace memqos::node
