// What happens to the files and children of cgroups, as events: one inotify watch per directory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "loop/loop.h"

namespace memqos::cgroup {

struct Event {
  // modified: user space wrote a control file, or the kernel changed one (memory.events, cgroup.events) that somebody
  // holds open. created, removed: a child cgroup; a rename is both. gone: the watched directory itself; its watch has
  // ended. A real cgroup never reports that of itself: its parent's `removed` tells, or a call that says gone, and then
  // remove() has to end the watch.
  enum class Kind { modified, created, removed, gone };
  Id cgroup = 0;
  Kind kind = Kind::modified;
  std::string name;  // of the file or the child; empty for gone
  bool operator==(const Event&) const = default;
};

class DirectoryWatcher {
 public:
  struct Callbacks {
    std::function<void(const Event&)> event;  // may add and remove watches, must not destroy the watcher
    std::function<void()> rescan;             // events were lost: look at everything again
  };
  // Errors: io (no more inotify instances).
  static Result<std::unique_ptr<DirectoryWatcher>> create(loop::Loop& loop, Callbacks callbacks);

  // Counted: the watch ends with as many calls of remove(). Added through the held descriptor, so the path may change
  // meanwhile. Errors: gone, io (ENOSPC: fs.inotify.max_user_watches).
  Status add(const Cgroup& cgroup);
  void remove(Id id);
  // Reads and delivers all that is pending; the loop calls it.
  void drain();
  [[nodiscard]] std::size_t size() const { return watches_.size(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  struct Watch {
    int descriptor;
    int count;
  };
  DirectoryWatcher(Fd fd, Callbacks callbacks) : fd_(std::move(fd)), callbacks_(std::move(callbacks)) {}
  // The events of one read(2) buffer; true: the queue overflowed.
  bool decode(const char* buffer, std::size_t size, std::vector<Event>& events);

  Fd fd_;
  Callbacks callbacks_;
  std::map<Id, Watch> watches_;
  std::map<int, Id> ids_;  // by watch descriptor
  loop::Handle registration_;
};

}  // namespace memqos::cgroup
