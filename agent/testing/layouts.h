// The recorded cgroup trees of cgroup/testdata/layouts; their README says what a file holds.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "testing/fake_tree.h"

namespace memqos::testing {

struct LayoutEntry {
  std::string path;  // below the root of the tree
  std::string kind;  // "kubepods", "qos", "pod", "container", "inside", "-"
  std::string word;  // UID of a pod, runtime of a container
};

struct Layout {
  std::string name;  // of the file, without ".txt"
  int version = 0;
  std::string driver;
  std::string pods;
  std::vector<LayoutEntry> entries;  // a directory before what is in it
};
void PrintTo(const Layout& layout, std::ostream* out);
std::string identifierOf(const Layout& layout);  // its name, as a part of a test's name

// Every file, by name. Throws std::runtime_error for one that cannot be read: a test cannot go on without.
std::vector<Layout> layouts();
// The directories of a layout, each with `files`.
void build(FakeTree& tree, const std::string& below, const Layout& layout, const Node& files);

// For INSTANTIATE_TEST_SUITE_P: names each test after its layout.
struct NamedByLayout {
  template <typename Info>
  std::string operator()(const Info& test) const {
    return identifierOf(test.param);
  }
};

}  // namespace memqos::testing
