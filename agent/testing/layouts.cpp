#include "testing/layouts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <string_view>

namespace memqos::testing {
namespace {

namespace fs = std::filesystem;

// "{a}" -> 64 times that letter.
std::string expanded(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const bool id = name.size() >= 3 && name[0] == '{' && name[2] == '}';
    out += id ? std::string(64, name[1]) : std::string(1, name[0]);
    name.remove_prefix(id ? 3 : 1);
  }
  return out;
}

[[noreturn]] void giveUp(const fs::path& file, const std::string& line) {
  throw std::runtime_error(file.string() + ": cannot be read: " + line);
}

void readHead(Layout& layout, const std::string& line, const fs::path& file) {
  const std::size_t colon = line.find(':');
  const std::string key = line.substr(0, colon);
  const std::string value = expanded(line.substr(std::min(line.size(), colon + 2)));
  if (key == "version") {
    layout.version = std::stoi(value);
  } else if (key == "driver") {
    layout.driver = value;
  } else if (key == "pods") {
    layout.pods = value;
  } else {
    giveUp(file, line);
  }
}

LayoutEntry readEntry(const std::string& line, std::vector<std::string>& above, const fs::path& file) {
  const std::size_t indent = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", indent);
  if (gap == std::string::npos || indent % 2 != 0 || indent / 2 > above.size()) giveUp(file, line);
  above.resize(indent / 2);
  above.push_back((above.empty() ? "" : above.back() + "/") + expanded(line.substr(indent, gap - indent)));
  const std::string what = line.substr(line.find_first_not_of(' ', gap));
  const std::size_t blank = what.find(' ');
  return {above.back(), what.substr(0, blank), blank == std::string::npos ? "" : what.substr(blank + 1)};
}

Layout read(const fs::path& file) {
  Layout layout;
  layout.name = file.stem().string();
  std::ifstream in(file);
  std::vector<std::string> above;
  bool head = true;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) {
      head = head && layout.version == 0;
    } else if (line[first] == '#') {
      continue;
    } else if (head) {
      readHead(layout, line, file);
    } else {
      layout.entries.push_back(readEntry(line, above, file));
    }
  }
  if (layout.version == 0 || layout.entries.empty()) giveUp(file, "no entries");
  return layout;
}

}  // namespace

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.name;
}

std::string identifierOf(const Layout& layout) {
  std::string name = layout.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<Layout> layouts() {
  std::vector<Layout> out;
  for (const auto& entry : fs::directory_iterator(fs::path(MEMQOS_SOURCE_DIR) / "agent/cgroup/testdata/layouts")) {
    if (entry.path().extension() == ".txt") out.push_back(read(entry.path()));
  }
  std::sort(out.begin(), out.end(), [](const Layout& a, const Layout& b) { return a.name < b.name; });
  return out;
}

void build(FakeTree& tree, const std::string& below, const Layout& layout, const Node& files) {
  for (const LayoutEntry& entry : layout.entries) {
    const fs::path path = fs::path(below) / entry.path;
    tree.add(path.parent_path().string(), {dir(path.filename().string(), {files})});
  }
}

}  // namespace memqos::testing
