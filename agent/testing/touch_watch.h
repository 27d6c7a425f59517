// Tells whether anybody opened, read, wrote or changed anything in some directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"

namespace memqos::testing {

class TouchWatch {
 public:
  // Not recursive. Throws std::system_error if a directory cannot be watched.
  explicit TouchWatch(const std::vector<std::string>& directories);
  // What was touched since, "DIRECTORY FILE"; each once.
  [[nodiscard]] std::vector<std::string> touched() const;

 private:
  Fd inotify_;
  std::map<int, std::string> directories_;
};

}  // namespace memqos::testing
