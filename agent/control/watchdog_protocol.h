// What the agent and its watchdog say to each other: one packet per message over a SOCK_SEQPACKET pair. Plain data,
// since the helper is built without any library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memqos::watchdog {

inline constexpr std::uint32_t kMagic = 0x6d715731;  // "mqW1": agent and helper of different versions do not talk
inline constexpr std::size_t kTextSize = 32;         // a value of a control file, NUL-terminated
inline constexpr std::size_t kMostHolds = 65536;

enum class Kind : std::uint32_t {
  hello = 1,    // the helper's first message: it is ready; its flags say what it could do
  hold = 2,     // with the control file's descriptor (O_RDWR) attached; answered
  release = 3,  // not answered
};

// What the helper achieved at its start.
enum Flag : std::uint32_t {
  kJoinedRoot = 1,  // it lives in the root cgroup, so that it outlives the agent's container
  kLocked = 2,      // its memory cannot be paged out
  kOomSpared = 4,   // the OOM killer takes everybody else first
};

struct Request {
  std::uint32_t magic = kMagic;
  Kind kind = Kind::hold;
  std::uint64_t sequence = 0;  // comes back in the reply
  std::uint64_t cgroup = 0;    // with `file` the key of a hold
  std::uint32_t file = 0;
  std::uint32_t unused = 0;
  std::int64_t undoAt = 0;  // CLOCK_MONOTONIC nanoseconds; 0: only when the agent is gone
  char ours[kTextSize] = {};
  char restore[kTextSize] = {};
};

struct Reply {
  std::uint32_t magic = kMagic;
  Kind kind = Kind::hold;
  std::uint64_t sequence = 0;
  std::int32_t error = 0;   // an errno; 0: accepted
  std::uint32_t flags = 0;  // of hello
};

// As the helper is started: these descriptors, on its command line by number.
inline constexpr int kSocketFd = 3;
inline constexpr int kLockFd = 4;
inline constexpr int kRootProcsFd = 5;

}  // namespace memqos::watchdog
