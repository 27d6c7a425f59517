#include "node/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "base/fd.h"

namespace memqos::node {

void prepareProcess() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);  // where it is refused, the limit that is has to do
  }
  // A dozen threads that each parse something would otherwise keep an arena each.
  ::mallopt(M_ARENA_MAX, 2);
}

Status joinHostCgroupNamespace(const std::string& procRoot) {
  const std::string theirs = procRoot + "/1/ns/cgroup";
  struct stat ours {};
  struct stat host {};
  if (::stat((procRoot + "/self/ns/cgroup").c_str(), &ours) != 0)
    return failErrno(errno, "cannot look at the agent's cgroup namespace");
  const Fd fd(::open(theirs.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &host) != 0) return failErrno(errno, "cannot open the host's cgroup namespace", theirs);
  if (ours.st_ino == host.st_ino) return {};
  if (::setns(fd.get(), CLONE_NEWCGROUP) != 0)
    return failErrno(errno, "cannot join the host's cgroup namespace", theirs);
  return {};
}

Status requireHostTree(const std::string& mount, const std::string& procRoot) {
  struct stat ours {};
  struct stat host {};
  if (::stat(mount.c_str(), &ours) != 0) return failErrno(errno, "cannot look at the cgroup tree", mount);
  if (::stat((procRoot + "/1/root" + mount).c_str(), &host) != 0) return {};
  if (ours.st_dev == host.st_dev && ours.st_ino == host.st_ino) return {};
  return fail(Code::invalid, "this is not the host's cgroup tree: bind the host's /sys/fs/cgroup over it", mount);
}

}  // namespace memqos::node
