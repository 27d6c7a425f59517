// The one primitive by which threads talk: callbacks in, callbacks out, and a descriptor that says when.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace memqos::loop {

class Mailbox {
 public:
  // Errors: io (no descriptor left).
  static Result<std::unique_ptr<Mailbox>> open();
  [[nodiscard]] int fd() const { return event_.get(); }  // readable while there may be something to take
  void put(std::function<void()> callback);              // from any thread; never blocks on I/O
  std::vector<std::function<void()>> take();             // all of it, in the order of put()

 private:
  explicit Mailbox(Fd event) : event_(std::move(event)) {}
  Fd event_;
  std::mutex mutex_;
  std::vector<std::function<void()>> queue_;
};

}  // namespace memqos::loop
