// Tells when a folder's files change: manifests, configuration, also as Kubernetes projects them (..data renames).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "loop/loop.h"

namespace memqos::node {

class FolderWatch {
 public:
  // `changed` is called once for a burst of events. A folder that does not exist is waited for through its nearest
  // existing parent. Errors: io (no more inotify instances or watches).
  static Result<std::unique_ptr<FolderWatch>> create(loop::Loop& loop, std::string folder,
                                                     std::function<void()> changed);

 private:
  FolderWatch(loop::Loop& loop, std::string folder, std::function<void()> changed)
      : loop_(loop), folder_(std::move(folder)), changed_(std::move(changed)) {}
  Status watchNearest();
  void drain();

  loop::Loop& loop_;
  std::string folder_;
  std::function<void()> changed_;
  Fd fd_;
  int watch_ = -1;
  loop::Handle registration_;
  loop::Handle settle_;
};

}  // namespace memqos::node
