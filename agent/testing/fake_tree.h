// A folder that plays a cgroup file system or /proc: written as nested literals, gone at the end of the scope.
//
//   FakeTree tree{dir("kubepods.slice", {cgroupFiles({{"memory.min", "4096"}}), dir("pod1", {file("x", "1\n")})})};
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memqos::testing {

struct Node {
  enum class Kind { file, directory, link, group };
  Kind kind = Kind::group;
  std::string name;
  std::string text;            // of a file, or the target of a link
  std::vector<Node> children;  // of a directory; of a group: spliced into the directory that it stands in
};

Node file(std::string name, std::string text);
Node link(std::string name, std::string target);
Node dir(std::string name, std::vector<Node> children = {});
Node group(std::vector<Node> children);
// What a v2 cgroup with the memory controller holds by default, also memory.reclaim, swap, zswap and pressure files.
// `values` replaces or adds files; a value gets a newline if it has none. A file named in `without` is left out.
Node cgroupFiles(const std::map<std::string, std::string>& values = {}, const std::vector<std::string>& without = {});

class FakeTree {
 public:
  FakeTree(std::initializer_list<Node> nodes = {});  // throws std::filesystem_error: a test cannot go on without
  ~FakeTree();
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(std::string_view relative) const;
  // Adds nodes below an existing directory ("" is the top), replacing what has the same name.
  void add(std::string_view directory, std::initializer_list<Node> nodes);
  void write(std::string_view file, std::string_view text);  // creates or replaces the content in place
  [[nodiscard]] std::string read(std::string_view file) const;
  void remove(std::string_view relative);  // with everything below

 private:
  std::string path_;
};

}  // namespace memqos::testing
