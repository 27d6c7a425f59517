// Worker threads for calls that may block. A job takes values and returns values; its result comes back on the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loop/loop.h"

namespace memqos::loop {

struct LaneStats {
  std::uint64_t done = 0;         // returned in time
  std::uint64_t timedOut = 0;     // deadline passed before the work returned
  std::uint64_t dropped = 0;      // refused because the queue was full or every thread is lost
  std::uint64_t lostThreads = 0;  // did not return a grace after the deadline (D state), replaced
  std::size_t queued = 0;
};

// Used on the loop's thread only; must be destroyed before the loop.
class Lane {
 public:
  // Stops at once: interrupts what runs, joins. Jobs that have not been reported yet never are.
  virtual ~Lane() = default;
  // How a job ended: done in time, done after its deadline (its own result says how, usually EINTR), or lost: the work
  // may still be running, so that what it shares with `done` must not be read.
  enum class Outcome { done, late, lost };
  // Runs `work` on a thread of the lane, then `done` on the loop's thread. From the deadline (counted from the start of
  // the work) on, a signal without SA_RESTART interrupts the thread's system calls every 20 ms until the work returns.
  // False: the queue is full (or every thread is lost), nothing will be called, and the drop is counted.
  virtual bool submit(Duration deadline, std::function<void()> work, std::function<void(Outcome)> done) = 0;
  [[nodiscard]] virtual LaneStats stats() const = 0;
};

// `threads` workers, a queue of at most `capacity` jobs. A thread that has not returned `grace` after its job's
// deadline is lost: the job is reported, and one replacement per thread is started. A lost thread that returns after
// all ends, or works on if nothing replaced it. `name` is what ps shows, at most 15 bytes of it. All signals but the
// cancel signal and those of faults are blocked in the workers.
std::unique_ptr<Lane> makeLane(Loop& loop, std::string name, unsigned threads = 1, std::size_t capacity = 4096,
                               Duration grace = std::chrono::seconds(5));

}  // namespace memqos::loop
