#include "cgroup/reclaim.h"

#include <fcntl.h>

#include <algorithm>
#include <ctime>

#include "base/file.h"

namespace memqos::cgroup {
namespace {

std::chrono::nanoseconds clockOf(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

const char* argumentOf(ReclaimKind kind) {
  switch (kind) {
    case ReclaimKind::any:
      return "";
    case ReclaimKind::file:
      return " swappiness=0";
    case ReclaimKind::anon:
      return " swappiness=max";
  }
  return "";
}

}  // namespace

ReclaimResult reclaim(const Cgroup& cgroup, Bytes amount, ReclaimKind kind) {
  ReclaimResult result;
  const auto current = cgroup.open("memory.current", O_RDONLY);
  const auto level = [&]() -> Result<Limit> {
    if (!current) return tl::unexpected(current.error());
    const auto text = readFd(current->get(), "memory.current", 64);
    return text ? parseLimit(*text) : tl::unexpected(text.error());
  };
  const auto before = level();
  const auto wall = clockOf(CLOCK_MONOTONIC);
  const auto cpu = clockOf(CLOCK_THREAD_CPUTIME_ID);
  const auto written = cgroup.write("memory.reclaim", toText(Limit(amount)) + argumentOf(kind));
  result.wall = clockOf(CLOCK_MONOTONIC) - wall;
  result.cpu = clockOf(CLOCK_THREAD_CPUTIME_ID) - cpu;
  if (!written) result.sysErrno = written.error().sysErrno;
  const auto after = level();
  if (before) result.before = before->bytes();
  if (after) result.after = after->bytes();
  if (before && after) result.got = std::max(Bytes{0}, result.before - result.after);
  return result;
}

}  // namespace memqos::cgroup
