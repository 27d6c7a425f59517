#include "reclaim/round.h"

#include <algorithm>
#include <cerrno>

namespace memqos::reclaim {

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::file:
      return "file";
    case Mode::mixed:
      return "mixed";
    case Mode::anon:
      return "anon";
  }
  return "";
}

std::string_view resultOf(int sysErrno) {
  switch (sysErrno) {
    case 0:
      return "ok";
    case EAGAIN:
      return "again";
    case EINTR:
      return "interrupted";
    case ENOENT:
    case ENODEV:
      return "gone";
    default:
      return "failed";
  }
}

Bytes ChunkPace::next(Bytes wanted) const {
  const Bytes chunk = took_ > 1.5 ? Bytes{chunk_.count / 2} : chunk_;
  return std::max(kPage, std::min(wanted, std::max(chunk, kLeastChunk)).roundDown(kPage));
}

void ChunkPace::observe(Bytes asked, Bytes took, Duration wall, Duration cpu) {
  if (asked.count <= 0) return;
  const double ratio = static_cast<double>(took.count) / static_cast<double>(asked.count);
  took_ += (std::clamp(ratio, 0.0, 4.0) - took_) / 4;
  const bool starved = wall > kLongestWrite / 2 && wall > 2 * cpu;
  if (wall > kLongestWrite || starved) {
    chunk_ = std::max(kLeastChunk, Bytes{std::min(chunk_, asked).count / 2});
  } else if (wall < kLongestWrite / 2 && asked.count * 2 >= chunk_.count) {
    chunk_ = std::min(kMostChunk, Bytes{chunk_.count + chunk_.count / 4});
  }
}

namespace {

// How much may still be taken; 0: nothing. Up to 6.5 the kernel takes up to twice what it is asked for, and that must
// not cross the floor either.
Bytes roomOf(const Job& job, Bytes usage, Bytes level) {
  return std::min(level - job.target, Bytes{std::max(Bytes{0}, usage - job.floor).count / 2});
}

}  // namespace

Done run(const Job& job, Hands& hands) {
  Done out;
  out.job = job;
  out.pace = job.pace;
  const TimePoint begin = hands.now();
  while (out.asked < job.amount && hands.now() - begin < kLongestRound) {
    if (!hands.populated()) {
      out.unpopulated = true;
      break;
    }
    out.usage = hands.usage();
    if (job.what == What::cache) out.cache = hands.cache();
    const auto level = job.what == What::cache ? out.cache : out.usage;
    out.gone = !out.usage || !level;
    if (out.gone) break;
    const Bytes room = std::min(roomOf(job, *out.usage, *level), job.amount - out.asked);
    if (room < kLeastChunk) break;
    const Bytes ask = out.pace.next(room);
    const Write write = hands.write(ask, job.mode);
    const Bytes got = std::max(Bytes{0}, write.before - write.after);
    // Success means that the kernel freed as much as was asked, whatever was charged meanwhile.
    const Bytes took = write.sysErrno == 0 ? std::max(ask, got) : got;
    out.asked += ask;
    out.taken += took;
    out.lastAsked = ask;
    out.lastGot = took;
    out.sysErrno = write.sysErrno;
    out.usage = write.after;
    out.wall += write.wall;
    out.writes.push_back(write.wall);
    ++out.results[resultOf(write.sysErrno)];
    out.gone = write.sysErrno == ENOENT || write.sysErrno == ENODEV;
    out.pace.observe(ask, took, write.wall, write.cpu);
    if (write.sysErrno != 0) break;
  }
  if (job.what == What::cache && !out.gone && !out.writes.empty()) out.cache = hands.cache();
  return out;
}

}  // namespace memqos::reclaim
