// Events of a parser -> a tree, with the caps enforced. What YAML and JSON have in common.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "document/node.h"

namespace memqos::document {

// How much a subtree holds.
struct Weight {
  std::size_t nodes = 0;
  std::size_t bytes = 0;  // of scalars and keys
  std::size_t depth = 0;  // 0 for a scalar
};
Weight weigh(const Node& node);

// Every call that can fail returns the failure; after one the builder must not be used again.
class Builder {
 public:
  using Problem = std::optional<Failure>;

  explicit Builder(const Caps& caps) : caps_(caps) {}
  Problem open(Kind listOrMap, Position position);
  Problem close();  // closed() has the value
  // True if the next scalar is a key.
  [[nodiscard]] bool expectsKey() const { return !frames_.empty() && frames_.back().expectsKey(); }
  // `merge`: the key is YAML's <<.
  // The key that waits for a value; nullptr: none does.
  [[nodiscard]] const Member* pendingKey() const {
    return frames_.empty() || !frames_.back().pending ? nullptr : &*frames_.back().pending;
  }
  Problem key(std::string text, Position position, bool merge = false);
  Problem scalar(Node node);
  // A ready value, as an alias gives it; it is charged to the caps.
  Problem subtree(const Node& node, const Weight& weight);
  // Memory that is held beside the tree, for anchors.
  Problem charge(const Weight& weight, Position position);
  [[nodiscard]] std::size_t depth() const { return frames_.size(); }
  // The container under construction. Only with depth() > 0.
  [[nodiscard]] const Node& current() const { return frames_.back().node; }
  // Complete values outside of every container; the caller may take them.
  std::vector<Node>& roots() { return roots_; }

 private:
  struct Frame {
    Node node;
    std::optional<Member> pending;  // a key that waits for its value
    bool pendingMerge = false;
    bool merged = false;                    // a << was seen
    std::set<std::string> mergedKeys;       // that an explicit key may still replace
    std::unordered_set<std::string> index;  // of the keys, once there are many
    [[nodiscard]] bool expectsKey() const { return node.kind == Kind::map && !pending && !pendingMerge; }
    [[nodiscard]] bool has(const std::string& key) const;
    void append(Member member);
  };
  Problem place(Node node);
  static Problem mergeInto(Frame& frame, Node node);

  Caps caps_;
  std::vector<Frame> frames_;
  std::vector<Node> roots_;
  std::size_t nodes_ = 0;
  std::size_t copiedBytes_ = 0;
};

}  // namespace memqos::document
