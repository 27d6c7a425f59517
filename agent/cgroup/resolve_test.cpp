#include "cgroup/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_tree.h"

namespace memqos::cgroup {
namespace {

using testing::dir;
using ::testing::ElementsAre;
using testing::FakeTree;
using testing::file;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::link;
using ::testing::Pair;
using ::testing::SizeIs;

class ResolveTest : public ::testing::Test {
 protected:
  Resolved run(std::optional<std::string> pod, std::map<std::string, std::string> containers,
               std::vector<std::string> names, const std::string& cgroupRoot = "") {
    PodKeys keys;
    if (pod) keys.pod = PathKey{"memqos.io/cgroup", *pod};
    for (const auto& [name, value] : containers) keys.containers[name] = PathKey{"cgroup.memqos.io/" + name, value};
    keys.names = std::move(names);
    return resolve(root_, cgroupRoot, keys);
  }

  FakeTree tree_{dir("web", {dir("app"), dir("log")}),
                 dir("single"),
                 dir("system.slice", {dir("db.service")}),
                 dir("kubepods", {dir("burstable", {dir("pod1", {dir("a"), dir("b")}), dir("pod2", {dir("c")})})}),
                 file("plain", ""),
                 link("link", "web")};
  Root root_ = Root::open(tree_.path()).value();
};

TEST_F(ResolveTest, ThePodsKeyAlone_ContainersAreItsChildren) {
  const auto found = run("web", {}, {"app", "log", "later"});
  EXPECT_EQ(found.pod, "web");
  EXPECT_TRUE(found.podSlice);
  EXPECT_THAT(found.containers, ElementsAre(Pair("app", "web/app"), Pair("log", "web/log")));
  EXPECT_THAT(found.waiting, ElementsAre(Pair("later", "web/later")));
  EXPECT_THAT(found.problems, IsEmpty());
}

TEST_F(ResolveTest, ASingleContainerIsThePodsCgroupUntilItHasAChild) {
  const auto whole = run("single", {}, {"app"});
  EXPECT_EQ(whole.pod, "single");
  EXPECT_FALSE(whole.podSlice);
  EXPECT_THAT(whole.containers, ElementsAre(Pair("app", "single")));
  tree_.add("single", {dir("app")});
  const auto child = run("single", {}, {"app"});
  EXPECT_TRUE(child.podSlice);
  EXPECT_THAT(child.containers, ElementsAre(Pair("app", "single/app")));
}

TEST_F(ResolveTest, TheMountPointAndSlashesAreDropped) {
  EXPECT_THAT(run(tree_.path() + "/web/", {}, {"app"}).containers, ElementsAre(Pair("app", "web/app")));
  EXPECT_THAT(run(tree_.path() + "web", {}, {"app"}).problems, SizeIs(1)) << "another directory that starts alike";
}

TEST_F(ResolveTest, ContainerKeysAlone) {
  const auto outside = run({}, {{"db", "system.slice/db.service"}}, {"db"});
  EXPECT_EQ(outside.pod, "");
  EXPECT_FALSE(outside.podSlice);
  EXPECT_THAT(outside.containers, ElementsAre(Pair("db", "system.slice/db.service")));

  const auto inside = run({}, {{"a", "kubepods/burstable/pod1/a"}, {"b", "kubepods/burstable/pod1/b"}}, {"a", "b"});
  EXPECT_EQ(inside.pod, "kubepods/burstable/pod1");
  EXPECT_TRUE(inside.podSlice);
  EXPECT_EQ(run({}, {{"a", "kubepods/burstable/pod1/a"}}, {"a"}).pod, "kubepods/burstable/pod1");

  const auto apart = run({}, {{"a", "kubepods/burstable/pod1/a"}, {"c", "kubepods/burstable/pod2/c"}}, {"a", "c"});
  EXPECT_EQ(apart.pod, "") << "a QoS slice is nobody's pod";
  EXPECT_THAT(apart.containers, SizeIs(2));

  const auto partly = run({}, {{"a", "kubepods/burstable/pod1/a"}}, {"a", "other"});
  EXPECT_THAT(partly.containers, SizeIs(1));
  EXPECT_THAT(partly.waiting, IsEmpty()) << "nothing says where it would be";
}

TEST_F(ResolveTest, KeysOfBothKinds) {
  const auto found = run("web", {{"app", "web/log"}}, {"app", "app2"});
  EXPECT_THAT(found.containers, ElementsAre(Pair("app", "web/log")));
  EXPECT_THAT(found.waiting, ElementsAre(Pair("app2", "web/app2")));
  const auto self = run("web", {{"app", "web"}}, {"app"});
  EXPECT_FALSE(self.podSlice);
  EXPECT_THAT(self.containers, ElementsAre(Pair("app", "web")));
  const auto outside = run("web", {{"app", "single"}}, {"app"});
  ASSERT_THAT(outside.problems, SizeIs(1));
  EXPECT_EQ(outside.problems[0].container, "app");
  EXPECT_EQ(outside.problems[0].problem, "is outside of the pod's cgroup web");
  EXPECT_THAT(outside.containers, ElementsAre(Pair("app", "web/app"))) << "as if the key were absent";
}

TEST_F(ResolveTest, MissingIsNoProblem) {
  const auto found = run("nowhere/pod", {}, {"a", "b"});
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(found.pod, "nowhere/pod");
  EXPECT_THAT(found.waiting, SizeIs(2));
  EXPECT_THAT(run("nowhere", {}, {"a"}).waiting, ElementsAre(Pair("a", "nowhere")));
  EXPECT_THAT(run({}, {{"a", "kubepods/burstable/pod9/a"}}, {"a"}).pod, "kubepods/burstable/pod9");
}

struct Refusal {
  std::string value;
  std::string problem;
};

TEST_F(ResolveTest, RefusesWithASentence) {
  const std::vector<Refusal> refusals = {
      {"", "names the root of all cgroups"},
      {"/", "names the root of all cgroups"},
      {tree_.path(), "names the root of all cgroups"},
      {"/etc", "is absolute, but not below " + tree_.path()},
      {"..", "has the component '..'"},
      {"web/../single", "has the component '..'"},
      {tree_.path() + "/../x", "has the component '..'"},
      {"./web", "has the component '.'"},
      {"web//app", "has two slashes in a row"},
      {"web\n", "contains a control character"},
      {"web\x7f", "contains a control character"},
      {std::string("web\0x", 5), "contains a control character"},
      {std::string(3001, 'x'), "is longer than 3000 bytes"},
      {"link", "leads through a symbolic link"},
      {"link/app", "leads through a symbolic link"},
      {"plain", "is not a directory"},
      {"plain/x", "is not a directory"},
      {"kubepods", "is shared by many pods"},
      {"kubepods/burstable", "is shared by many pods"},
  };
  for (const auto& c : refusals) {
    for (const bool asPod : {true, false}) {
      const auto found = asPod ? run(c.value, {}, {"app"}) : run({}, {{"app", c.value}}, {"app"});
      ASSERT_THAT(found.problems, SizeIs(1)) << c.value;
      EXPECT_EQ(found.problems[0].problem, c.problem) << c.value;
      EXPECT_EQ(found.problems[0].value, c.value);
      EXPECT_EQ(found.problems[0].key, asPod ? "memqos.io/cgroup" : "cgroup.memqos.io/app");
      EXPECT_NE(found.problems[0].advice, "");
      EXPECT_THAT(found.containers, IsEmpty()) << c.value;
      EXPECT_THAT(found.waiting, IsEmpty()) << c.value;
      EXPECT_EQ(found.pod, "") << c.value;
    }
  }
}

TEST_F(ResolveTest, StaysBelowTheConfiguredRoot) {
  EXPECT_THAT(run("web", {}, {"app"}, "web").problems, SizeIs(1)) << "the root itself is not below it";
  EXPECT_THAT(run("single", {}, {"app"}, "web").problems[0].problem,
              HasSubstr("outside of the configured cgroupRoot web"));
  EXPECT_THAT(run("web/app", {}, {"app"}, "web").containers, ElementsAre(Pair("app", "web/app")));
  EXPECT_THAT(run("web/app", {}, {"app"}, tree_.path() + "/web/").containers, SizeIs(1));
  EXPECT_EQ(run({}, {{"a", "kubepods/burstable/pod1/a"}}, {"a"}, "kubepods/burstable/pod1").pod, "")
      << "the pod's cgroup would be outside";
}

TEST_F(ResolveTest, ContainersDoNotShareACgroup) {
  const auto same = run({}, {{"a", "web/app"}, {"b", "web/app"}}, {"b", "a"});
  EXPECT_THAT(same.containers, ElementsAre(Pair("b", "web/app"))) << "the spec's first has it";
  ASSERT_THAT(same.problems, SizeIs(1));
  EXPECT_EQ(same.problems[0].problem, "overlaps with web/app of container 'b'");
  EXPECT_THAT(run({}, {{"a", "web"}, {"b", "web/app"}}, {"a", "b"}).problems, SizeIs(1));
  EXPECT_THAT(run("web", {{"a", "web/b"}}, {"a", "b"}).problems, SizeIs(1));
}

TEST_F(ResolveTest, AKeyForNoContainerIsAProblem) {
  const auto found = run({}, {{"nobody", "web"}}, {"app"});
  ASSERT_THAT(found.problems, SizeIs(1));
  EXPECT_EQ(found.problems[0].problem, "the pod has no container 'nobody'");
}

TEST_F(ResolveTest, AHostileContainerNameFindsNothing) {
  const auto found = run("web", {}, {"..", "a/b", ""});
  EXPECT_THAT(found.containers, IsEmpty());
  EXPECT_THAT(found.waiting, IsEmpty());
}

TEST_F(ResolveTest, KnowsWhereToWait) {
  EXPECT_EQ(nearestExisting(root_, "web/app"), "web/app");
  EXPECT_EQ(nearestExisting(root_, "web/x/y"), "web");
  EXPECT_EQ(nearestExisting(root_, "x/y"), "");
  EXPECT_EQ(nearestExisting(root_, ""), "");
}

}  // namespace
}  // namespace memqos::cgroup
