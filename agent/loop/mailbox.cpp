#include "loop/mailbox.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

namespace memqos::loop {

Result<std::unique_ptr<Mailbox>> Mailbox::open() {
  Fd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event) return failErrno(errno, "cannot make an event descriptor");
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(event)));
}

void Mailbox::put(std::function<void()> callback) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queue_.empty();
    queue_.push_back(std::move(callback));
  }
  // Only the counter's overflow could fail, and then the descriptor is readable anyway.
  if (first) (void)::eventfd_write(event_.get(), 1);
}

std::vector<std::function<void()>> Mailbox::take() {
  // Cleared before the queue is taken: whatever comes in between sets it again or is taken with the rest.
  ::eventfd_t count = 0;
  (void)::eventfd_read(event_.get(), &count);
  std::vector<std::function<void()>> all;
  const std::lock_guard lock(mutex_);
  all.swap(queue_);
  return all;
}

}  // namespace memqos::loop
