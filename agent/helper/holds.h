// What the watchdog has to put back: one entry per control file. No allocation: it must work when memory is short.
#pragma once

#include <cstdint>
#include <span>

#include "control/watchdog_protocol.h"

namespace memqos::helper {

struct Hold {
  std::uint64_t cgroup;
  std::uint32_t file;
  int fd;
  std::int64_t undoAt;  // 0: nothing is due
  int attempts;         // of an undo that the kernel refused
  using Text = char[watchdog::kTextSize];
  Text ours;      // what the agent is about to write, or wrote
  Text previous;  // what it wrote before: a crash may come between the hold and the write
  Text undo;      // what to write at undoAt
  Text end;       // what to write when the agent is gone
};

class Holds {
 public:
  // `table` is all the room there is; its content does not matter.
  explicit Holds(std::span<Hold> table) : table_(table) {}
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;
  ~Holds();

  // Takes the descriptor in every case. A hold with undoAt over one without (a temporary value over a steady one) keeps
  // the steady one's end. Returns 0, EBADF (no descriptor), EINVAL (a text without end, or empty) or ENOSPC.
  int hold(const watchdog::Request& request, int fd);
  void release(std::uint64_t cgroup, std::uint32_t file);
  // The earliest undoAt; 0: none.
  [[nodiscard]] std::int64_t nextUndo() const;
  // Puts back what is due, where the file still holds one of our last two values. A removed cgroup is forgotten; what
  // the kernel refuses is tried again, kRetry later, kMostAttempts times. What is left holds for the agent's end.
  void undoDue(std::int64_t now);
  // The agent is gone: everything is due, for its last value.
  void undoAll(std::int64_t now);
  [[nodiscard]] std::size_t size() const { return size_; }

  static constexpr std::int64_t kRetry = 100'000'000;  // ns
  static constexpr int kMostAttempts = 50;

 private:
  Hold* find(std::uint64_t cgroup, std::uint32_t file);
  void forget(Hold& hold);
  std::span<Hold> table_;
  std::size_t size_ = 0;  // the first entries are used
};

}  // namespace memqos::helper
