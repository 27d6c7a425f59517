#include "config/folder.h"

#include <algorithm>
#include <filesystem>

namespace memqos::config {

namespace fs = std::filesystem;

Result<std::vector<std::string>> listFolder(const std::string& directory,
                                            std::initializer_list<std::string_view> endings) {
  std::error_code error;
  std::vector<std::string> out;
  fs::directory_iterator entries(directory, error);
  if (error) return failErrno(error.value(), "cannot list", directory);
  for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    const bool wanted =
        std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
    std::error_code ignored;
    if (wanted && name[0] != '.' && !entries->is_directory(ignored)) out.push_back(entries->path().string());
  }
  if (error) return failErrno(error.value(), "cannot list", directory);
  std::sort(out.begin(), out.end());
  return out;
}

bool stillThere(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace memqos::config
