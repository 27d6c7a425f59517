#include "cgroup/watch.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace memqos::cgroup {
namespace {

constexpr std::uint32_t kMask =
    IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

}  // namespace

Result<std::unique_ptr<DirectoryWatcher>> DirectoryWatcher::create(loop::Loop& loop, Callbacks callbacks) {
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) return failErrno(errno, "cannot watch cgroups: raise fs.inotify.max_user_instances");
  std::unique_ptr<DirectoryWatcher> watcher(new DirectoryWatcher(std::move(fd), std::move(callbacks)));
  auto registration = loop.watch(watcher->fd_.get(), EPOLLIN, [self = watcher.get()](std::uint32_t) { self->drain(); });
  if (!registration) return tl::unexpected(std::move(registration.error()));
  watcher->registration_ = std::move(*registration);
  return watcher;
}

Status DirectoryWatcher::add(const Cgroup& cgroup) {
  if (const auto found = watches_.find(cgroup.id()); found != watches_.end()) {
    ++found->second.count;
    return {};
  }
  // The magic link leads to what the descriptor holds, whatever the path names by now.
  const std::string held = fmt::format("/proc/self/fd/{}", cgroup.fd());
  const int descriptor = ::inotify_add_watch(fd_.get(), held.c_str(), kMask);
  if (descriptor < 0) {
    const bool full = errno == ENOSPC;
    return failErrno(errno, full ? "cannot watch: raise fs.inotify.max_user_watches" : "cannot watch", cgroup.path());
  }
  watches_[cgroup.id()] = {descriptor, 1};
  ids_[descriptor] = cgroup.id();
  return {};
}

void DirectoryWatcher::remove(Id id) {
  const auto found = watches_.find(id);
  if (found == watches_.end() || --found->second.count > 0) return;
  ids_.erase(found->second.descriptor);
  ::inotify_rm_watch(fd_.get(), found->second.descriptor);  // fails only if the kernel ended it already
  watches_.erase(found);
}

void DirectoryWatcher::drain() {
  bool overflow = false;
  std::vector<Event> events;
  alignas(inotify_event) char buffer[16384];
  while (true) {
    const ssize_t got = ::read(fd_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    overflow = decode(buffer, static_cast<std::size_t>(got), events) || overflow;
  }
  for (const Event& event : events) {
    // An earlier callback may have removed the watch.
    if (event.kind == Event::Kind::gone || watches_.count(event.cgroup) != 0) callbacks_.event(event);
  }
  if (overflow) callbacks_.rescan();
}

bool DirectoryWatcher::decode(const char* buffer, std::size_t size, std::vector<Event>& events) {
  bool overflow = false;
  const auto put = [&](Event event) {
    if (events.empty() || !(events.back() == event)) events.push_back(std::move(event));
  };
  for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event header{};
    std::memcpy(&header, buffer + at, sizeof header);
    const char* text = buffer + at + sizeof header;
    const std::string name(text, ::strnlen(text, header.len));
    at += sizeof header + header.len;
    if ((header.mask & IN_Q_OVERFLOW) != 0) overflow = true;
    const auto known = ids_.find(header.wd);
    if (known == ids_.end()) continue;
    const Id id = known->second;
    const bool child = (header.mask & IN_ISDIR) != 0;
    if ((header.mask & IN_IGNORED) != 0) {  // after IN_DELETE_SELF, or the file system was unmounted
      ids_.erase(known);
      watches_.erase(id);
      put({id, Event::Kind::gone, {}});
    } else if ((header.mask & IN_MODIFY) != 0 && !child) {
      put({id, Event::Kind::modified, name});
    } else if ((header.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && child) {
      put({id, Event::Kind::created, name});
    } else if ((header.mask & (IN_DELETE | IN_MOVED_FROM)) != 0 && child) {
      put({id, Event::Kind::removed, name});
    }
  }
  return overflow;
}

}  // namespace memqos::cgroup
