#include "testing/fake_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace memqos::testing {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void giveUp(const std::string& what, const fs::path& path) {
  throw fs::filesystem_error(what, path, std::error_code(errno, std::generic_category()));
}

void put(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) giveUp("cannot write", path);
}

void materialise(const fs::path& directory, const Node& node) {
  switch (node.kind) {
    case Node::Kind::file:
      put(directory / node.name, node.text);
      break;
    case Node::Kind::link:
      fs::create_symlink(node.text, directory / node.name);
      break;
    case Node::Kind::directory:
      fs::create_directory(directory / node.name);
      for (const Node& child : node.children) materialise(directory / node.name, child);
      break;
    case Node::Kind::group:
      for (const Node& child : node.children) materialise(directory, child);
      break;
  }
}

const std::map<std::string, std::string>& defaultFiles() {
  static const std::map<std::string, std::string> kFiles = {
      {"cgroup.controllers", "cpu io memory pids\n"},
      {"cgroup.events", "populated 1\nfrozen 0\n"},
      {"cgroup.freeze", "0\n"},
      {"cgroup.procs", ""},
      {"cgroup.subtree_control", ""},
      {"cgroup.type", "domain\n"},
      {"memory.current", "0\n"},
      {"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"},
      {"memory.high", "max\n"},
      {"memory.low", "0\n"},
      {"memory.max", "max\n"},
      {"memory.min", "0\n"},
      {"memory.oom.group", "0\n"},
      {"memory.peak", "0\n"},
      {"memory.pressure",
       "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
      {"memory.reclaim", ""},
      {"memory.stat", "anon 0\nfile 0\nshmem 0\nfile_mapped 0\nfile_dirty 0\nfile_writeback 0\ninactive_file 0\n"},
      {"memory.swap.current", "0\n"},
      {"memory.swap.high", "max\n"},
      {"memory.swap.max", "max\n"},
      {"memory.zswap.current", "0\n"},
      {"memory.zswap.max", "max\n"},
      {"memory.zswap.writeback", "1\n"},
  };
  return kFiles;
}

}  // namespace

Node file(std::string name, std::string text) {
  return {Node::Kind::file, std::move(name), std::move(text), {}};
}
Node link(std::string name, std::string target) {
  return {Node::Kind::link, std::move(name), std::move(target), {}};
}
Node dir(std::string name, std::vector<Node> children) {
  return {Node::Kind::directory, std::move(name), {}, std::move(children)};
}
Node group(std::vector<Node> children) {
  return {Node::Kind::group, {}, {}, std::move(children)};
}

Node cgroupFiles(const std::map<std::string, std::string>& values, const std::vector<std::string>& without) {
  auto files = defaultFiles();
  for (const auto& [name, text] : values) {
    files[name] = text.empty() || text.back() == '\n' ? text : text + '\n';
  }
  std::vector<Node> nodes;
  for (const auto& [name, text] : files) {
    if (std::find(without.begin(), without.end(), name) == without.end()) nodes.push_back(file(name, text));
  }
  return group(std::move(nodes));
}

FakeTree::FakeTree(std::initializer_list<Node> nodes) {
  std::string name = (fs::temp_directory_path() / "memqos-tree-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) giveUp("cannot create a folder", name);
  path_ = name;
  add("", nodes);
}

FakeTree::~FakeTree() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string FakeTree::path(std::string_view relative) const {
  return relative.empty() ? path_ : path_ + "/" + std::string(relative);
}

void FakeTree::add(std::string_view directory, std::initializer_list<Node> nodes) {
  for (const Node& node : nodes) materialise(path(directory), node);
}

void FakeTree::write(std::string_view name, std::string_view text) {
  put(path(name), text);
}

std::string FakeTree::read(std::string_view name) const {
  std::ifstream in(path(name), std::ios::binary);
  if (!in) giveUp("cannot read", path(name));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void FakeTree::remove(std::string_view relative) {
  fs::remove_all(path(relative));
}

}  // namespace memqos::testing
