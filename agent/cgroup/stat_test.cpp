#include "cgroup/stat.h"

#include <gtest/gtest.h>

#include <string>

namespace memqos::cgroup {
namespace {

using std::chrono::microseconds;

TEST(Stat, ReadsMemoryStatByKey) {
  const auto stat = parseMemoryStat(
      "shmem 209715200\nanon 104857600\nfile 524288000\nfile_mapped 52428800\nfile_dirty 10485760\nfile_writeback "
      "4096\n"
      "inactive_file 104857600\nactive_file 209715200\nunevictable 8192\nslab_reclaimable 8388608\npgscan 1000\n"
      "pgsteal 600\nworkingset_refault_anon 7\nworkingset_refault_file 50\nworkingset_restore_anon 3\n"
      "workingset_restore_file 2\nsome_new_counter 5\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->anon, mebibytes(100));
  EXPECT_EQ(stat->pageCache(), Bytes{314572800});
  EXPECT_EQ(stat->fileMapped, mebibytes(50));
  EXPECT_EQ(stat->fileDirty, mebibytes(10));
  EXPECT_EQ(stat->fileWriteback, Bytes{4096});
  EXPECT_EQ(stat->inactiveFile, mebibytes(100));
  EXPECT_EQ(stat->activeFile, mebibytes(200));
  EXPECT_EQ(stat->unevictable, Bytes{8192});
  EXPECT_EQ(stat->slabReclaimable, mebibytes(8));
  EXPECT_EQ(stat->pgscan, 1000);
  EXPECT_EQ(stat->pgsteal, 600);
  EXPECT_EQ(stat->refaultAnon, 7);
  EXPECT_EQ(stat->refaultFile, 50);
  EXPECT_EQ(stat->restoreAnon, 3);
  EXPECT_EQ(stat->restoreFile, 2);
  EXPECT_EQ(stat->absurd, 0);
}

constexpr const char* kStat =
    "anon 104857600\nfile 524288000\nshmem 209715200\nfile_mapped 52428800\nfile_dirty 10485760\nfile_writeback 0\n"
    "inactive_file 104857600\nactive_file 209715200\nslab_reclaimable 8388608\n";

// koordinator#2508: "page cache" held anonymous memory and slab too. runc#2816: on v2 the key is "file", not "cache".
TEST(Stat, PageCacheIsFileWithoutSharedMemory) {
  EXPECT_EQ(parseMemoryStat(kStat)->pageCache(), Bytes{314572800});
  EXPECT_EQ(parseMemoryStat(std::string("cache 4096\nrss 4096\n") + kStat)->pageCache(), Bytes{314572800});
  EXPECT_EQ(parseMemoryStat("cache 4096\n")->pageCache(), Bytes{0});
  EXPECT_EQ(parseMemoryStatV1("total_cache 8192\ntotal_shmem 4096\nfile 4096\n")->pageCache(), Bytes{4096});
}

// kubernetes#128339: tmpfs pages stay in the pod's cgroup; a container that counts on their reclaim dies again and
// again.
TEST(Stat, SharedMemoryIsNeverReclaimable) {
  const auto tmpfs = parseMemoryStat(
      "file 943718400\nshmem 922746880\ninactive_anon 922746880\ninactive_file 10485760\nactive_file 10485760\n");
  EXPECT_EQ(tmpfs->cleanCache(), mebibytes(20));
  EXPECT_EQ(tmpfs->reclaimable(), mebibytes(20));
  // Locked file pages are on no list that reclaim looks at.
  const auto locked = parseMemoryStat("file 943718400\nshmem 0\nunevictable 922746880\nactive_file 20971520\n");
  EXPECT_EQ(locked->reclaimable(), mebibytes(20));
  // All of the pages under writeback and more: counters are read one after the other.
  EXPECT_EQ(parseMemoryStat("file 8192\nactive_file 8192\nfile_dirty 4096\nfile_writeback 8192\n")->cleanCache(),
            Bytes{0});
  EXPECT_EQ(parseMemoryStat(kStat)->cleanCache(), Bytes{304087040});
}

// ClickHouse#100901: reclaimable slab was counted as used, and limits triggered early.
TEST(Stat, ReclaimableSlabIsReclaimable) {
  const auto stat =
      parseMemoryStat("anon 4096\nslab_reclaimable 4294967296\nslab_unreclaimable 8192\nslab 4294975488\n");
  EXPECT_EQ(stat->reclaimable(), Bytes{4294967296});
  EXPECT_EQ(parseMemoryStat(kStat)->reclaimable(), Bytes{304087040 + 8388608});
}

// kubernetes#43916: a working set of usage less the inactive list is pressure that is none where most cache is active.
TEST(Stat, TheActiveListIsReclaimableTooOnBothVersions) {
  const std::string v1 =
      "cache 139264\nrss 3411968\ndirty 0\nactive_file 4096\nhierarchical_memory_limit 9223372036854771712\n"
      "total_cache 8589934592\ntotal_rss 1073741824\ntotal_shmem 0\ntotal_mapped_file 4096\ntotal_dirty 4096\n"
      "total_writeback 0\ntotal_inactive_file 1073741824\ntotal_active_file 7516192768\ntotal_unevictable 0\n";
  const auto stat = parseMemoryStatV1(v1);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->reclaimable(), Bytes{8589934592 - 4096});
  EXPECT_EQ(stat->anon, Bytes{1073741824});
  EXPECT_EQ(stat->activeFile, Bytes{7516192768});
  EXPECT_EQ(stat->absurd, 1) << "v1's word for no limit";
  EXPECT_EQ(parseMemoryStat("file 8589934592\ninactive_file 1073741824\nactive_file 7516192768\n")->reclaimable(),
            Bytes{8589934592});
  EXPECT_EQ(parseMemoryStatV1("junk\n").error().code, Code::invalid);
}

TEST(Stat, TheOldNameOfRefaultsCounts) {
  const auto stat = parseMemoryStat("workingset_refault 9\nworkingset_restore 4\n").value();
  EXPECT_EQ(stat.refaultFile, 9);
  EXPECT_EQ(stat.restoreFile, 4);
}

// etcd#17615: a kernel's dirty counter went below zero, and writers were throttled for ever.
TEST(Stat, AbsurdValuesReadAsZeroAndAreCounted) {
  const auto stat =
      parseMemoryStat("file_dirty 18446744073709551614\nfile -4096\nanon 99999999999999999999\nshmem 4096\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->fileDirty, Bytes{0});
  EXPECT_EQ(stat->file, Bytes{0});
  EXPECT_EQ(stat->anon, Bytes{0});
  EXPECT_EQ(stat->absurd, 3);
  EXPECT_EQ(stat->pageCache(), Bytes{0}) << "more shmem than file is no negative cache";
  EXPECT_EQ(parseFlatKeyed("a 4611686018427387903\nb 4611686018427387904\nc -0\n")->absurd, 1);
  EXPECT_EQ(parseMemoryStat("workingset_refault 4611686018427387903\nworkingset_refault_file 4611686018427387903\n")
                ->refaultFile,
            9223372036854775806);
}

TEST(Stat, FlatKeyedTakesOddLines) {
  const auto flat = parseFlatKeyed("  a \t 1  2\nb\nc x\n\nd 4");
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->get("a"), 1);
  EXPECT_EQ(flat->get("d"), 4);
  EXPECT_EQ(flat->get("b"), 0);
  EXPECT_EQ(flat->values.size(), 2u);
  EXPECT_TRUE(parseFlatKeyed("")->values.empty());
  EXPECT_EQ(parseFlatKeyed("junk\n").error().code, Code::invalid);
}

// containerd/cgroups#274: a new key, oom_group_kill, broke a reader.
TEST(Stat, ReadsMemoryEventsWithUnknownKeys) {
  const auto events =
      parseMemoryEvents("low 1\nhigh 20223\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\nsock_throttled 0\n").value();
  EXPECT_EQ(events.low, 1);
  EXPECT_EQ(events.high, 20223);
  EXPECT_EQ(events.max, 2);
  EXPECT_EQ(events.oom, 3);
  EXPECT_EQ(events.oomKill, 4);
  EXPECT_EQ(events.oomGroupKill, 5);
  EXPECT_EQ(parseMemoryEvents("low 0\nhigh 1\n")->oomGroupKill, 0);
}

TEST(Stat, ReadsPressureTotals) {
  const auto both = parsePressure(
      "some avg10=0.00 avg60=0.12 avg300=0.00 total=51000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=49\n");
  EXPECT_EQ(both->some, microseconds(51000));
  EXPECT_EQ(both->full, microseconds(49));
  const auto cpu = parsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=7");
  EXPECT_EQ(cpu->some, microseconds(7));
  EXPECT_EQ(cpu->full, microseconds(0));
  for (const auto* bad : {"", "full avg10=0.00 total=1\n", "some avg10=0.00\n", "some total=x\n", "some total=\n"}) {
    EXPECT_EQ(parsePressure(bad).error().code, Code::invalid) << bad;
  }
}

// kubernetes#141146, #134141: new kernels do not sleep where old ones did, the averages stay at 0; the totals tell.
TEST(Stat, AStallIsSeenWhereTheAveragesHideIt) {
  const auto at = [](const std::string& total) {
    const std::string rest = " avg10=0.00 avg60=0.00 avg300=0.00 total=" + total + "\n";
    return parsePressure("some" + rest + "full" + rest).value();
  };
  EXPECT_EQ(at("51000").some - at("1000").some, microseconds(50000));
  EXPECT_EQ(at("51000").full - at("1000").full, microseconds(50000));
}

TEST(Stat, CountsMemoryCgroups) {
  const auto old = parseCgroupStat("nr_descendants 12\nnr_dying_descendants 2500\n");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->living, 12);
  EXPECT_EQ(old->dying, 2500);
  const auto later = parseCgroupStat(
      "nr_descendants 12\nnr_subsys_cpu 9\nnr_subsys_memory 10\nnr_dying_descendants 9\nnr_dying_subsys_cpu 0\n"
      "nr_dying_subsys_memory 7\n");
  EXPECT_EQ(later->living, 10);
  EXPECT_EQ(later->dying, 7);
  EXPECT_EQ(parseCgroupStat("populated 1\n").error().code, Code::invalid);
  const std::string head = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t3\t80\t1\n";
  EXPECT_EQ(parseMemoryCgroups(head + "memory\t11\t65535\t1\n"), 65535);
  for (const auto* bad : {"", "memory\n", "memory 11\n", "memory 11 x 1\n", "memory 11 -1 1\n"})
    EXPECT_EQ(parseMemoryCgroups(head + bad).error().code, Code::invalid) << bad;
}

TEST(Stat, ReadsCgroupEvents) {
  EXPECT_TRUE(parseCgroupEvents("populated 1\nfrozen 0\n")->populated);
  EXPECT_TRUE(parseCgroupEvents("frozen 1\npopulated 0\n")->frozen);
  EXPECT_FALSE(parseCgroupEvents("populated 0\n")->populated);
  EXPECT_EQ(parseCgroupEvents("frozen 1\n").error().code, Code::invalid);
}

TEST(Stat, ReadsMemInfoInBytes) {
  const auto info =
      parseMemInfo("MemTotal:  8028236 kB\nMemAvailable: 4 kB\nHugePages_Total:  0\nSwapTotal: 2 kB\nSwapFree: 1 kB\n");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->total, Bytes{8028236 * 1024LL});
  EXPECT_EQ(info->available, Bytes{4096});
  EXPECT_EQ(info->swapTotal, Bytes{2048});
  EXPECT_EQ(info->swapFree, Bytes{1024});
  EXPECT_EQ(parseMemInfo("MemTotal: 1 kB\n").error().code, Code::invalid) << "no MemAvailable is not nothing available";
}

}  // namespace
}  // namespace memqos::cgroup
