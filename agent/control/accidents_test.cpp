// What went wrong elsewhere, from public bug reports: stale values, other writers, cgroups that come and go.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "control/fake_world.h"

namespace memqos::control {
namespace {

using cgroup::File;
using namespace std::chrono_literals;

class Accidents : public ControllerWorld {
 protected:
  // Every file of the tree with its content.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree_.path("cgroup"))) {
      if (!entry.is_regular_file()) continue;
      const std::string path = std::filesystem::relative(entry.path(), tree_.path()).string();
      out[path] = tree_.read(path);
      if (out[path].ends_with("\n")) out[path].pop_back();
    }
    return out;
  }
  void plan(const std::vector<Target>& targets) {
    controller_->setTargets(targets, "plan");
    settle();
  }
  // The next run of the agent, which knows only what the journal says.
  void restart() {
    start();
    writes_.clear();
    for (const auto& [key, entry] : writer_->journal().entries()) controller_->adopt(at(entry.path), key.file);
  }
  std::vector<Target> protection(File file) {
    return {target(kContainer, file, mebibytes(8)), target(kPod, file, mebibytes(8), Role::podSlice),
            target(kSlice, file, mebibytes(8), Role::ancestor)};
  }
};

// kubernetes#137674: the policy was switched off, but memory.min stayed on the pods that had it.
// kubernetes#138903: the same with memory.low of the QoS slice.
TEST_F(Accidents, ProtectionThatNobodyWantsIsTakenBackEverywhere) {
  for (const File file : {File::memoryMin, File::memoryLow}) {
    for (const bool restarted : {false, true}) {
      plan(protection(file));
      ASSERT_EQ(text(kSlice, file), "8388608");
      if (restarted) restart();
      plan({});
      for (const std::string& path : {kContainer, kPod, kSlice}) EXPECT_EQ(text(path, file), "0") << path << restarted;
      EXPECT_TRUE(writer_->journal().entries().empty());
    }
  }
}

TEST_F(Accidents, ProtectionOfSomebodyElseStays) {
  plan(protection(File::memoryMin));
  tree_.write("cgroup/" + kPod + "/memory.min", "134217728\n");    // over our value
  tree_.write("cgroup/" + kSlice + "/memory.low", "536870912\n");  // never ours
  tree_.write("cgroup/" + kContainer + "/memory.low", "4096\n");   // likewise
  restart();
  plan({});
  EXPECT_EQ(text(kContainer, File::memoryMin), "0");
  EXPECT_EQ(text(kPod, File::memoryMin), "134217728");
  EXPECT_EQ(text(kSlice, File::memoryLow), "536870912");
  EXPECT_EQ(text(kContainer, File::memoryLow), "4096");
  for (const std::string& write : writes_) EXPECT_EQ(write.find("memory.low"), std::string::npos) << write;
}

// kubernetes#137889: setting min and low by way of systemd put memory.max and others back to the unit's values.
TEST_F(Accidents, NoFileButTheAskedOneChanges) {
  tree_.write("cgroup/" + kContainer + "/memory.max", "1073741824");
  tree_.write("cgroup/" + kContainer + "/cpu.weight", "79");
  const auto before = contents();
  for (const File file : cgroup::kFiles) {
    const Limit value = cgroup::isFlag(file) ? Limit(Bytes{file == File::oomGroup ? 1 : 0}) : Limit(mebibytes(200));
    plan({target(kContainer, file, value)});
    auto expected = before;
    expected["cgroup/" + kContainer + "/" + cgroup::name(file)] = toText(value);
    EXPECT_EQ(contents(), expected) << cgroup::name(file);
    plan({});
    EXPECT_EQ(contents(), before) << cgroup::name(file);
  }
}

// kubernetes#138431: the kubelet puts the QoS slices back every minute.
TEST_F(Accidents, OneFlipIsOneRewriteAndOneDrift) {
  plan({target(kSlice, File::memoryLow, mebibytes(8), Role::ancestor)});
  writes_.clear();
  loop_.advance(60s);
  foreign(kSlice, File::memoryLow, "0");
  settle();
  EXPECT_EQ(writes_, std::vector<std::string>{kSlice + " memory.low 8388608"});
  EXPECT_EQ(drifts_, std::vector<std::string>{kSlice + " memory.low kubelet"});
}

// kubernetes#104289, #88197, systemd#14014, #8645: daemon-reload puts the unit's values back over what was written.
TEST_F(Accidents, WhatDaemonReloadResetsIsWrittenAgain) {
  const auto before = contents();
  for (const File file : cgroup::kFiles) {
    const Limit value = cgroup::isFlag(file) ? Limit(Bytes{file == File::oomGroup ? 1 : 0}) : Limit(mebibytes(200));
    plan({target(kContainer, file, value)});
    drifts_.clear();
    foreign(kContainer, file, before.at("cgroup/" + kContainer + "/" + cgroup::name(file)));
    settle();
    EXPECT_EQ(text(kContainer, file), toText(value)) << cgroup::name(file);
    EXPECT_EQ(drifts_.size(), 1U) << cgroup::name(file);
    plan({});
    loop_.advance(11min);
  }
  EXPECT_EQ(contents(), before);
}

// kubernetes#117793, #117070, #126096: oom.group=1 kills the whole container where one process was meant.
TEST_F(Accidents, OomGroupIsTakenBackAndLeftAsItWas) {
  tree_.write("cgroup/" + kContainer + "/memory.oom.group", "1\n");
  plan({target(kContainer, File::oomGroup, Limit(Bytes{0}))});
  EXPECT_EQ(text(kContainer, File::oomGroup), "0");
  plan({});
  EXPECT_EQ(text(kContainer, File::oomGroup), "1");
}

// convox/agent#16: a container that is gone before the write was an error in the log. koordinator#2550: and again on
// each round, for ever.
TEST_F(Accidents, AContainerThatIsGoneBeforeTheWriteIsForgotten) {
  controller_->setTargets(
      {target(kContainer, File::memoryMin, mebibytes(8)), target(kPod, File::oomGroup, Limit(Bytes{1}))}, "plan");
  loop_.settle();
  control_.runNext();  // the look
  tree_.remove("cgroup/" + kContainer);
  settle();
  ASSERT_FALSE(applied_.empty());
  for (const Applied& applied : applied_) EXPECT_NE(applied.outcome, Outcome::failed) << applied.path << applied.error;
  EXPECT_EQ(text(kPod, File::oomGroup), "1") << "the others are served";
  const std::size_t looks = applied_.size();
  loop_.advance(10min);
  settle();
  EXPECT_EQ(applied_.size(), looks) << "and nobody asks again";
  EXPECT_EQ(controller_->files().size(), 1U);
}

// oomd: the loop never advanced once one cgroup's id could not be read.
TEST_F(Accidents, OneCgroupThatCannotBeReadStopsNoOther) {
  for (const File file : cgroup::kFiles) tree_.remove("cgroup/" + kContainer + "/" + cgroup::name(file));
  tree_.add("cgroup/" + kContainer, {testing::dir("memory.min"), testing::file("memory.low", "junk\n")});
  plan({target(kContainer, File::memoryMin, mebibytes(8)), target(kContainer, File::memoryLow, mebibytes(8)),
        target(kContainer, File::oomGroup, Limit(Bytes{1})),
        target(kPod, File::memoryMin, mebibytes(8), Role::podSlice)});
  EXPECT_EQ(text(kPod, File::memoryMin), "8388608");
  EXPECT_EQ(controller_->find(at(kContainer)->id(), File::memoryMin)->outcome, Outcome::failed);
  EXPECT_EQ(controller_->find(at(kContainer)->id(), File::oomGroup)->outcome, Outcome::unsupported);
}

// katalyst-core: state that is keyed by a name passes to the next one of that name (a StatefulSet's pod, a restarted
// container).
TEST_F(Accidents, TheNextCgroupOfTheNameStartsAnew) {
  plan({target(kContainer, File::memoryHigh, mebibytes(200))});
  const cgroup::Handle old = at(kContainer);  // held, so that the file system cannot use its inode again
  controller_->sampled(old->id(), {Limit(), mebibytes(199), 0, 0us, Limit::max()});
  loop_.advance(5s);
  controller_->sampled(old->id(), {Limit(), mebibytes(199), 10, 3s, Limit::max()});
  settle();
  ASSERT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(264).count));
  tree_.remove("cgroup/" + kContainer);
  controller_->gone(old->id());
  tree_.add("cgroup/" + kPod, {testing::dir("c", {testing::cgroupFiles({{"memory.high", "419430400"}})})});
  plan({target(kContainer, File::memoryHigh, mebibytes(200))});
  EXPECT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(200).count)) << "no escape is inherited";
  const FileEntry* entry = controller_->find(at(kContainer)->id(), File::memoryHigh);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->escapes, 0U);
  EXPECT_EQ(entry->baseline, Limit(mebibytes(400))) << "nor a baseline";
  EXPECT_EQ(controller_->find(old->id(), File::memoryHigh), nullptr);
}

// neon#5348: after a restart processes stayed throttled by the memory.high of the run before.
TEST_F(Accidents, AHighThatAnEarlierRunLeftIsRaisedByTheFirstPlan) {
  for (const bool wanted : {false, true}) {
    plan({target(kContainer, File::memoryHigh, mebibytes(120))});
    ASSERT_EQ(text(kContainer, File::memoryHigh), std::to_string(mebibytes(120).count));
    tree_.write("cgroup/" + kContainer + "/memory.current", std::to_string(mebibytes(150).count));
    restart();
    std::vector<Target> targets = {target(kContainer, File::memoryMin, mebibytes(4))};
    if (wanted) targets.push_back(target(kContainer, File::memoryHigh, mebibytes(300)));
    plan(targets);
    const std::string raised = wanted ? std::to_string(mebibytes(300).count) : "max";
    EXPECT_THAT(writes_, ::testing::Contains(kContainer + " memory.high " + raised));
    EXPECT_EQ(text(kContainer, File::memoryHigh), raised);
    EXPECT_EQ(reclaim_.runAll(), 0U) << "nothing is taken from the container for it";
    plan({});
    EXPECT_EQ(text(kContainer, File::memoryHigh), "max");
    tree_.write("cgroup/" + kContainer + "/memory.current", std::to_string(mebibytes(100).count));
  }
}

}  // namespace
}  // namespace memqos::control
