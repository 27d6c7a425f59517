#include "proc/mountinfo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"

namespace memqos::proc {
namespace {

constexpr std::size_t kCap = 16UL * 1024 * 1024;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename T>
bool number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// The kernel writes space, tab, newline, backslash (and '#') as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  const auto isOctal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && isOctal(i + 1) && isOctal(i + 2) &&
        isOctal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> list(std::string_view text) {
  std::vector<std::string> out;
  for (const auto part : split(text, ',')) {
    if (!part.empty()) out.push_back(unescape(part));
  }
  return out;
}

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<Mount> parseLine(std::string_view line) {
  const auto fields = split(line, ' ');
  const auto dash = std::find(fields.begin() + std::min<std::ptrdiff_t>(6, std::ssize(fields)), fields.end(), "-");
  if (fields.end() - dash < 3) return std::nullopt;  // the super options may be empty, and the source too
  Mount mount;
  const std::size_t colon = fields[2].find(':');
  if (colon == std::string_view::npos || !number(fields[0], mount.id) || !number(fields[1], mount.parent) ||
      !number(fields[2].substr(0, colon), mount.major) || !number(fields[2].substr(colon + 1), mount.minor)) {
    return std::nullopt;
  }
  mount.root = unescape(fields[3]);
  mount.point = unescape(fields[4]);
  mount.options = list(fields[5]);
  mount.type = unescape(dash[1]);
  mount.source = unescape(dash[2]);
  if (fields.end() - dash > 3) mount.superOptions = list(dash[3]);
  if (mount.point.empty() || mount.point[0] != '/' || mount.type.empty()) return std::nullopt;
  return mount;
}

}  // namespace

bool Mount::hasSuperOption(std::string_view option) const {
  return std::find(superOptions.begin(), superOptions.end(), option) != superOptions.end();
}

MountTable parseMountinfo(std::string_view text) {
  MountTable table;
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    if (auto mount = parseLine(line)) {
      table.mounts.push_back(std::move(*mount));
    } else {
      ++table.malformed;
    }
  }
  return table;
}

Result<MountTable> readMountinfo(const std::string& procRoot, const std::string& process) {
  auto text = readFile(procRoot + "/" + process + "/mountinfo", kCap);
  if (!text) return tl::unexpected(std::move(text.error()).in("mounts"));
  return parseMountinfo(*text);
}

bool isReachable(const Mount& mount) {
  struct statx info {};
  if (::statx(AT_FDCWD, mount.point.c_str(), AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID, &info) != 0) {
    return false;
  }
  if ((info.stx_mask & STATX_MNT_ID) != 0) return info.stx_mnt_id == static_cast<std::uint64_t>(mount.id);
  return info.stx_dev_major == mount.major && info.stx_dev_minor == mount.minor;  // Linux before 5.8
}

}  // namespace memqos::proc
