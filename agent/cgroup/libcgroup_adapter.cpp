// The only place with libcgroup. It is asked where the memory controller is; all reads and writes are ours.
#include <libcgroup.h>

#include <cstdlib>
#include <memory>

#include "cgroup/discovery.h"

namespace memqos::cgroup {
namespace {

LibcgroupAnswer ask() {
  LibcgroupAnswer answer;
  // Before cgroup_init(): the default logger prints to stdout.
  cgroup_set_logger(nullptr, -1, nullptr);
  if (const int status = cgroup_init(); status != 0) {
    answer.problem = cgroup_strerror(status);
    return answer;
  }
  char* mount = nullptr;
  const int status = cgroup_get_subsys_mount_point("memory", &mount);
  const std::unique_ptr<char, void (*)(void*)> owned(mount, std::free);
  if (status != 0 || mount == nullptr) {
    answer.problem = status == 0 ? "no mount point" : cgroup_strerror(status);
    return answer;
  }
  answer.usable = true;
  answer.memoryMount = mount;
  return answer;
}

}  // namespace

const LibcgroupAnswer& askLibcgroup() {
  static const LibcgroupAnswer kAnswer = ask();
  return kAnswer;
}

}  // namespace memqos::cgroup
