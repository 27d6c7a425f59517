// On a real cgroup v2: identity, discovery, the probe and the readers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/file.h"
#include "cgroup/cgroup.h"
#include "cgroup/discovery.h"
#include "cgroup/features.h"
#include "cgroup/stat.h"
#include "testing/scoped_cgroup.h"
#include "testing/workload.h"

namespace memqos::cgroup {
namespace {

using ::testing::Contains;
using testing::kCgroupMount;
using testing::ScopedCgroup;
using testing::Workload;

Root root() {
  return Root::open(kCgroupMount).value();
}

std::pair<int, int> kernelVersion() {
  utsname name{};
  ::uname(&name);
  std::pair<int, int> version;
  if (std::sscanf(name.release, "%d.%d", &version.first, &version.second) != 2) return {0, 0};
  return version;
}

TEST(CgroupKernel, APathThatLeavesTheTreeIsRefused) {
  const ScopedCgroup outer("k-mount/inner");
  ASSERT_EQ(::mount("none", outer.file("").c_str(), "tmpfs", 0, nullptr), 0);
  const auto found = root().find("k-mount/inner");
  ::umount2(outer.file("").c_str(), MNT_DETACH);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().sysErrno, EXDEV);
}

TEST(CgroupKernel, WritesAndReadsBack) {
  const ScopedCgroup scoped("k-write");
  const auto cgroup = scoped.handle();
  ASSERT_TRUE(cgroup->write("memory.min", "104857600"));
  EXPECT_EQ(cgroup->readLimit("memory.min").value(), Limit(mebibytes(100)));
  ASSERT_TRUE(cgroup->write("memory.min", "4096"));
  EXPECT_EQ(cgroup->readLimit("memory.min").value(), Limit(Bytes{4096}));
  ASSERT_TRUE(cgroup->write("memory.high", "67108864"));
  ASSERT_TRUE(cgroup->write("memory.high", "max"));
  EXPECT_TRUE(cgroup->readLimit("memory.high").value().isMax());
  EXPECT_EQ(cgroup->write("memory.min", "junk").error().code, Code::invalid);
  EXPECT_EQ(cgroup->write("memory.nonsense", "1").error().code, Code::gone);
  EXPECT_TRUE(cgroup->exists("memory.low"));
  EXPECT_FALSE(cgroup->exists("memory.nonsense"));
}

TEST(CgroupKernel, IsTheSameCgroupOnlyAsLongAsItLives) {
  auto scoped = std::make_unique<ScopedCgroup>("k-identity");
  const auto old = scoped->handle();
  const auto events = old->open("cgroup.events", O_RDONLY);
  ASSERT_TRUE(events);
  EXPECT_TRUE(old->alive());
  EXPECT_EQ(old->id(), scoped->handle()->id());
  ASSERT_TRUE(scoped->remove());
  EXPECT_FALSE(old->alive());
  EXPECT_EQ(old->read("memory.high").error().code, Code::gone);
  EXPECT_EQ(old->write("memory.high", "max").error().code, Code::gone);
  const auto held = readFd(events->get(), "cgroup.events", 4096);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().sysErrno, ENODEV);
  EXPECT_EQ(held.error().code, Code::gone);
  EXPECT_EQ(root().find("k-identity").error().code, Code::gone);
  scoped.reset();
  const ScopedCgroup again("k-identity");
  EXPECT_NE(again.handle()->id(), old->id());
  EXPECT_FALSE(old->alive());
}

TEST(CgroupKernel, ListsChildren) {
  const ScopedCgroup parent("k-children");
  const ScopedCgroup one("k-children/one");
  EXPECT_THAT(parent.handle()->children().value(), ::testing::ElementsAre("one"));
}

TEST(DiscoveryKernel, FindsTheMountAndAgreesWithLibcgroup) {
  const auto before = discover();
  ASSERT_TRUE(before) << before.error().text();
  EXPECT_EQ(before->version, 2);
  EXPECT_EQ(before->root, kCgroupMount);
  EXPECT_EQ(before->driver, Driver::none);
  EXPECT_EQ(before->note, "");
  EXPECT_FALSE(before->hybrid);
  EXPECT_TRUE(before->recursiveProt);
  EXPECT_THAT(before->controllers, Contains("memory"));
  const ScopedCgroup slice("kubelet.slice/kubelet-kubepods.slice");
  EXPECT_EQ(discover()->driver, Driver::systemd);
  EXPECT_EQ(discover()->kubepods, "kubelet.slice/kubelet-kubepods.slice");
}

TEST(DiscoveryKernel, ASecondMountCoversNothingAndAPartIsNotTaken) {
  const ScopedCgroup part("k-part");
  const std::string over = testing::scratchFolder();
  // A later mount of a part of the tree, as a container would have it.
  ASSERT_EQ(::mount(part.file("").c_str(), over.c_str(), nullptr, MS_BIND, nullptr), 0);
  const auto found = discover();
  ::umount2(over.c_str(), MNT_DETACH);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->root, kCgroupMount);
  // Covered altogether: nothing usable is left.
  ASSERT_EQ(::mount("none", kCgroupMount, "tmpfs", 0, nullptr), 0);
  const auto covered = discover();
  ::umount2(kCgroupMount, MNT_DETACH);
  ASSERT_FALSE(covered);
  EXPECT_EQ(covered.error().code, Code::unsupported);
}

std::string evidenceOf(const std::vector<Feature>& features, std::string_view name) {
  for (const auto& feature : features) {
    if (feature.name == name) return feature.evidence;
  }
  return {};
}

TEST(FeaturesKernel, FindsByTryingWhatTheVersionSays) {
  const ScopedCgroup other("k-other");
  const auto hierarchy = discover().value();
  const auto features = probe(root(), hierarchy);
  for (const auto& feature : features) {
    std::printf("%-24s %s  %s\n", feature.name.c_str(), feature.available ? "yes" : "no ", feature.evidence.c_str());
    EXPECT_TRUE(feature.known) << feature.name;
  }
  const auto version = kernelVersion();
  using Version = std::pair<int, int>;
  const std::map<std::string, Version> since = {
      {"cgroup-v2", {4, 5}},
      {"memory-controller", {4, 5}},
      {"memory.reclaim", {5, 19}},
      {"memory.swap.max", {4, 5}},
      {"memory.swap.high", {5, 8}},
      {"memory.oom.group", {4, 19}},
      {"memory.peak", {5, 19}},
      {"swappiness-argument", {6, 11}},
      {"swappiness-max-argument", {6, 16}},
      {"memory.zswap.writeback", {6, 8}},
      {"cachestat", {6, 5}},
      {"openat2", {5, 6}},
      {"psi", {4, 20}},
      {"mem-available", {3, 14}},
      {"recursive-protection", {5, 7}},
      {"directory-watch", {2, 6}},
      {"cgroup-room", {4, 14}},
      {"memory.zswap.max", {5, 19}},
      {"mglru", {6, 12}},  // Debian's: built in but off before
  };
  const bool zswap = ::access("/sys/module/zswap", F_OK) == 0;  // left out of some of Debian's kernels
  for (const auto& [name, first] : since) {
    if (name.find("zswap") != std::string::npos && !zswap) {
      EXPECT_TRUE(lacks(features, name)) << name;
      continue;
    }
    EXPECT_EQ(has(features, name), version >= first) << name << ": " << evidenceOf(features, name);
    EXPECT_EQ(lacks(features, name), version < first) << name;
  }
  EXPECT_EQ(since.size(), features.size());
}

TEST(FeaturesKernel, TheProbeTakesNothing) {
  const ScopedCgroup other("k-probed");
  auto reader = Workload::pageCache(other, mebibytes(8));
  ASSERT_TRUE(reader.waitReady());
  const auto features = probe(root(), discover().value());
  EXPECT_THAT(evidenceOf(features, "memory.reclaim"), ::testing::HasSubstr("k-probed"));
  EXPECT_EQ(reader.cached(), mebibytes(8));
}

TEST(FeaturesKernel, WithoutAnyCgroupTheRestIsUnknown) {
  const auto features = probe(root(), discover().value());
  EXPECT_TRUE(has(features, "memory.reclaim")) << "the root has it";
  EXPECT_FALSE(has(features, "memory.swap.max"));
  EXPECT_FALSE(lacks(features, "memory.swap.max"));
}

TEST(StatKernel, RealFilesParse) {
  const ScopedCgroup scoped("k-stat");
  auto reader = Workload::pageCache(scoped, mebibytes(16));
  auto user = Workload::anonymous(scoped, mebibytes(16));
  ASSERT_TRUE(reader.waitReady() && user.waitReady());
  const auto cgroup = scoped.handle();
  // The kernel may hold updates back for two seconds (mm/memcontrol.c, FLUSH_TIME).
  const auto stat = [&] { return parseMemoryStat(cgroup->read("memory.stat").value()).value(); };
  EXPECT_TRUE(testing::waitUntil([&] { return stat().anon >= mebibytes(16) && stat().pageCache() >= mebibytes(16); }));
  EXPECT_EQ(stat().absurd, 0);
  EXPECT_LE(stat().fileDirty, mebibytes(1));
  EXPECT_GE(stat().activeFile + stat().inactiveFile, mebibytes(16));
  EXPECT_TRUE(parseCgroupEvents(cgroup->read("cgroup.events").value())->populated);
  EXPECT_TRUE(parsePressure(cgroup->read("memory.pressure").value()));
  EXPECT_EQ(parseMemoryEvents(cgroup->read("memory.events").value())->oomKill, 0);
  const auto info = parseMemInfo(readFile("/proc/meminfo", 65536).value());
  ASSERT_TRUE(info);
  EXPECT_GT(info->total, mebibytes(100));
  EXPECT_LE(info->available, info->total);
  EXPECT_TRUE(parseFlatKeyed(readFile("/proc/vmstat", 65536).value())->values.count("oom_kill"));
  EXPECT_TRUE(parsePressure(readFile("/proc/pressure/memory", 4096).value()));
}

}  // namespace
}  // namespace memqos::cgroup
