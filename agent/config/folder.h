// The files of a configuration folder.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace memqos::config {

// What is read of one file at most.
inline constexpr std::size_t kLargestFile = std::size_t{16} * 1024 * 1024;

// "FOLDER/NAME" of every entry whose name ends in one of `endings`, in name order; no dot files and no folders.
// Symbolic links are followed, as in the mount of a ConfigMap. Errors: gone, denied, io.
Result<std::vector<std::string>> listFolder(const std::string& directory,
                                            std::initializer_list<std::string_view> endings);

// True where a file that could not be opened still has its name: a link that leads nowhere, not a file that was
// removed.
bool stillThere(const std::string& path);

}  // namespace memqos::config
