#include "helper/holds.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace memqos::helper {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\0";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The kernel rounds bytes down to pages; flags are smaller than a page.
constexpr std::uint64_t kPage = 4096;
std::uint64_t rounded(std::uint64_t value) {
  return value < kPage ? value : value - value % kPage;
}

bool same(std::string_view a, std::string_view b) {
  const auto left = number(a);
  const auto right = number(b);
  return left && right ? rounded(*left) == rounded(*right) : a == b;
}

bool valid(const Hold::Text& text) {
  return std::memchr(text, '\0', sizeof(text)) != nullptr && !trimmed(std::string_view(text)).empty();
}

void copy(Hold::Text& to, const Hold::Text& from) {
  std::memcpy(to, from, sizeof(to));
}

bool isGone(int error) {
  return error == ENODEV || error == ENOENT;
}

// What the file holds; an errno if it cannot be read.
int readValue(int fd, char* buffer, std::size_t size, std::string_view& value) {
  ssize_t length = 0;
  do {
    length = ::pread(fd, buffer, size, 0);
  } while (length < 0 && errno == EINTR);
  if (length < 0) return errno;
  value = trimmed(std::string_view(buffer, static_cast<std::size_t>(length)));
  return 0;
}

int writeValue(int fd, std::string_view text) {
  // Control files have no size; a plain file that plays one must not keep the tail of a longer value.
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0 && ::ftruncate(fd, 0) != 0) return errno;
  ssize_t length = 0;
  do {
    length = ::pwrite(fd, text.data(), text.size(), 0);
  } while (length < 0 && errno == EINTR);
  return length < 0 ? errno : 0;
}

// 0 also if the value is somebody else's.
int undo(const Hold& hold) {
  char buffer[128];
  std::string_view value;
  if (const int error = readValue(hold.fd, buffer, sizeof(buffer), value); error != 0) return error;
  const bool ours = same(value, trimmed(hold.ours)) || same(value, trimmed(hold.previous));
  const auto wanted = trimmed(hold.undo);
  if (!ours || same(value, wanted)) return 0;
  return writeValue(hold.fd, wanted);
}

}  // namespace

Holds::~Holds() {
  for (Hold& hold : table_.first(size_)) ::close(hold.fd);
}

int Holds::hold(const watchdog::Request& request, int fd) {
  if (fd < 0) return EBADF;
  Hold* entry = find(request.cgroup, request.file);
  const bool fits = valid(request.ours) && valid(request.restore);
  if (!fits || (entry == nullptr && size_ == table_.size())) {
    ::close(fd);
    return fits ? ENOSPC : EINVAL;
  }
  if (entry == nullptr) {
    entry = &table_[size_++];
    *entry = Hold{};
    entry->cgroup = request.cgroup;
    entry->file = request.file;
    copy(entry->previous, request.ours);
    copy(entry->end, request.restore);
  } else {
    ::close(entry->fd);
    // The same value again keeps the older one: the file may not have been written in between.
    if (std::strcmp(entry->ours, request.ours) != 0) copy(entry->previous, entry->ours);
    if (request.undoAt == 0) copy(entry->end, request.restore);
  }
  entry->fd = fd;
  entry->undoAt = request.undoAt;
  entry->attempts = 0;
  copy(entry->ours, request.ours);
  copy(entry->undo, request.restore);
  return 0;
}

void Holds::release(std::uint64_t cgroup, std::uint32_t file) {
  if (Hold* entry = find(cgroup, file)) forget(*entry);
}

std::int64_t Holds::nextUndo() const {
  std::int64_t next = 0;
  for (const Hold& hold : table_.first(size_)) {
    if (hold.undoAt != 0 && (next == 0 || hold.undoAt < next)) next = hold.undoAt;
  }
  return next;
}

void Holds::undoDue(std::int64_t now) {
  for (std::size_t i = 0; i < size_;) {
    Hold& hold = table_[i];
    if (hold.undoAt == 0 || hold.undoAt > now) {
      ++i;
      continue;
    }
    const int error = undo(hold);
    if (isGone(error)) {
      forget(hold);  // the last entry is here now
      continue;
    }
    ++i;
    if (error != 0 && ++hold.attempts < kMostAttempts) {
      hold.undoAt = now + kRetry;
      continue;
    }
    hold.undoAt = 0;
    if (error != 0) continue;
    copy(hold.previous, hold.ours);
    copy(hold.ours, hold.undo);
  }
}

void Holds::undoAll(std::int64_t now) {
  for (Hold& hold : table_.first(size_)) {
    copy(hold.undo, hold.end);
    hold.undoAt = now;
    hold.attempts = 0;
  }
  undoDue(now);
}

Hold* Holds::find(std::uint64_t cgroup, std::uint32_t file) {
  for (Hold& hold : table_.first(size_)) {
    if (hold.cgroup == cgroup && hold.file == file) return &hold;
  }
  return nullptr;
}

void Holds::forget(Hold& hold) {
  ::close(hold.fd);
  hold = table_[--size_];
}

}  // namespace memqos::helper
