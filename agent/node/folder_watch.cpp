#include "node/folder_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace memqos::node {
namespace {

// An editor or a projection changes several names at once; one reading serves them all.
constexpr auto kSettle = std::chrono::milliseconds(10);
constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

Result<std::unique_ptr<FolderWatch>> FolderWatch::create(loop::Loop& loop, std::string folder,
                                                         std::function<void()> changed) {
  std::unique_ptr<FolderWatch> out(new FolderWatch(loop, std::move(folder), std::move(changed)));
  out->fd_ = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!out->fd_) return failErrno(errno, "cannot watch the folder", out->folder_);
  if (auto status = out->watchNearest(); !status) return tl::unexpected(std::move(status.error()));
  auto registration = loop.watch(out->fd_.get(), EPOLLIN, [self = out.get()](std::uint32_t) { self->drain(); });
  if (!registration) return tl::unexpected(std::move(registration.error()));
  out->registration_ = std::move(*registration);
  return out;
}

Status FolderWatch::watchNearest() {
  std::filesystem::path path(folder_);
  while (true) {
    const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), kEvents | IN_ONLYDIR);
    if (watch >= 0) {
      if (watch_ >= 0 && watch_ != watch) ::inotify_rm_watch(fd_.get(), watch_);
      watch_ = watch;
      return {};
    }
    const auto parent = path.parent_path();
    if (errno != ENOENT || parent == path || parent.empty())
      return failErrno(errno, "cannot watch the folder", folder_);
    path = parent;
  }
}

void FolderWatch::drain() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  while (::read(fd_.get(), buffer.data(), buffer.size()) > 0) {
  }
  settle_ = loop_.after(kSettle, [this] {
    // The folder itself may have come, gone or been replaced. Where it cannot be watched now the next event tries
    // again.
    if (auto status = watchNearest(); !status) watch_ = -1;
    changed_();
  });
}

}  // namespace memqos::node
