#include "document/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "document/places.h"

namespace memqos::document {
namespace {

constexpr std::size_t kIndexFrom = 16;  // below, a scan is cheaper than hashing

Failure failure(Position position, std::string_view sentence) {
  return failAt(position, sentence).value();
}

}  // namespace

Weight weigh(const Node& node) {
  Weight weight{1, node.scalar.size(), 0};
  const auto add = [&](const Node& child) {
    const Weight inner = weigh(child);
    weight.nodes += inner.nodes;
    weight.bytes += inner.bytes;
    weight.depth = std::max(weight.depth, inner.depth);
  };
  for (const Node& item : node.items) add(item);
  for (const Member& member : node.members) {
    weight.bytes += member.key.size();
    add(member.value);
  }
  if (node.kind == Kind::list || node.kind == Kind::map) ++weight.depth;
  return weight;
}

bool Builder::Frame::has(const std::string& key) const {
  if (!index.empty()) return index.count(key) != 0;
  return std::any_of(node.members.begin(), node.members.end(), [&](const Member& m) { return m.key == key; });
}

void Builder::Frame::append(Member member) {
  if (!index.empty()) {
    index.insert(member.key);
  } else if (node.members.size() == kIndexFrom) {
    for (const Member& other : node.members) index.insert(other.key);
    index.insert(member.key);
  }
  node.members.push_back(std::move(member));
}

Builder::Problem Builder::open(Kind listOrMap, Position position) {
  if (expectsKey()) return failure(position, "a key must be plain text, not a list or a map");
  if (frames_.size() >= caps_.depth) {
    return failure(position, fmt::format("nested too deeply; at most {} levels are read", caps_.depth));
  }
  if (auto problem = charge({1, 0, 0}, position)) return problem;
  Frame frame;
  frame.node.kind = listOrMap;
  frame.node.position = position;
  frames_.push_back(std::move(frame));
  return std::nullopt;
}

Builder::Problem Builder::close() {
  Node node = std::move(frames_.back().node);
  frames_.pop_back();
  return place(std::move(node));
}

Builder::Problem Builder::key(std::string text, Position position, bool merge) {
  Frame& frame = frames_.back();
  if (merge) {
    if (frame.merged) return failure(position, "only one << is allowed in a map; write << : [*a, *b]");
    frame.merged = frame.pendingMerge = true;
    return std::nullopt;
  }
  if (frame.mergedKeys.count(text) == 0 && frame.has(text)) {
    return failure(position, fmt::format("duplicate key '{}'", text.substr(0, 256)));
  }
  frame.pending = Member{std::move(text), position, {}};
  return std::nullopt;
}

Builder::Problem Builder::scalar(Node node) {
  if (auto problem = charge({1, 0, 0}, node.position)) return problem;
  return place(std::move(node));
}

Builder::Problem Builder::subtree(const Node& node, const Weight& weight) {
  if (frames_.size() + weight.depth > caps_.depth) {
    return failure(node.position,
                   fmt::format("an alias nests this too deeply; at most {} levels are read", caps_.depth));
  }
  if (auto problem = charge(weight, node.position)) return problem;
  return place(node);
}

Builder::Problem Builder::charge(const Weight& weight, Position position) {
  nodes_ += weight.nodes;
  copiedBytes_ += weight.bytes;
  if (nodes_ > caps_.nodes) {
    return failure(position, fmt::format("too many values; at most {} are read, aliases expanded", caps_.nodes));
  }
  if (copiedBytes_ > caps_.bytes) {
    return failure(position, fmt::format("aliases expand to more than {} bytes", caps_.bytes));
  }
  return std::nullopt;
}

Builder::Problem Builder::place(Node node) {
  if (frames_.empty()) {
    roots_.push_back(std::move(node));
    return std::nullopt;
  }
  Frame& frame = frames_.back();
  if (frame.node.kind == Kind::list) {
    frame.node.items.push_back(std::move(node));
    return std::nullopt;
  }
  if (frame.pendingMerge) {
    frame.pendingMerge = false;
    return mergeInto(frame, std::move(node));
  }
  Member member = *std::move(frame.pending);
  frame.pending.reset();
  member.value = std::move(node);
  if (frame.mergedKeys.erase(member.key) != 0) {  // what is written beats what was merged
    *std::find_if(frame.node.members.begin(), frame.node.members.end(),
                  [&](const Member& m) { return m.key == member.key; }) = std::move(member);
  } else {
    frame.append(std::move(member));
  }
  return std::nullopt;
}

Builder::Problem Builder::mergeInto(Frame& frame, Node node) {
  const Position position = node.position;
  std::vector<Node> sources;
  if (node.kind == Kind::list) {
    sources = std::move(node.items);
  } else {
    sources.push_back(std::move(node));
  }
  for (Node& source : sources) {  // the first of several wins
    if (source.kind != Kind::map) return failure(position, "<< merges a map, or a list of maps");
    for (Member& member : source.members) {
      if (frame.mergedKeys.count(member.key) != 0) continue;
      if (frame.has(member.key)) {
        return failure(position, fmt::format("<< would overwrite '{}', which stands before it; write << first",
                                             member.key.substr(0, 256)));
      }
      frame.mergedKeys.insert(member.key);
      frame.append(std::move(member));
    }
  }
  return std::nullopt;
}

}  // namespace memqos::document
