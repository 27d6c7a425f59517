#include "testing/touch_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

namespace memqos::testing {

TouchWatch::TouchWatch(const std::vector<std::string>& directories)
    : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  for (const std::string& directory : directories) {
    const int watch = ::inotify_add_watch(inotify_.get(), directory.c_str(), IN_ALL_EVENTS);
    if (watch < 0) throw std::system_error(errno, std::generic_category(), directory);
    directories_[watch] = directory;
  }
}

std::vector<std::string> TouchWatch::touched() const {
  std::set<std::string> out;
  alignas(inotify_event) char buffer[16384];
  for (ssize_t got = 0; (got = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
    for (const char* at = buffer; at < buffer + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      out.insert(directories_.at(event->wd) + " " + (event->len > 0 ? event->name : "(itself)"));
      at += sizeof(inotify_event) + event->len;
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace memqos::testing
