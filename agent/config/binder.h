// Strict binding of a document to values: what is not known or has another type is a finding with its place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/node.h"
#include "policy/finding.h"

namespace memqos::config {

using document::Node;

class Binder {
 public:
  // `findings` takes findings of reason invalidConfiguration about `file`; it must outlive the binder.
  Binder(std::string file, std::vector<policy::Finding>& findings) : file_(std::move(file)), findings_(findings) {}

  // `read` gets the value and its path, e.g. "metrics.listen".
  using Read = std::function<void(const Node&, const std::string&)>;
  struct Key {
    std::string_view name;
    Read read;
  };
  // A map whose keys are known. An unknown key is a finding with the nearest known one. Null is an empty map.
  void map(const Node& node, const std::string& path, std::span<const Key> keys);
  // A map whose keys are names.
  using ReadEntry = std::function<void(const document::Member&, const std::string& path)>;
  void entries(const Node& node, const std::string& path, const ReadEntry& read);
  void list(const Node& node, const std::string& path, const Read& read);

  // Scalars; nullopt after a finding.
  std::optional<bool> boolean(const Node& node, const std::string& path);
  std::optional<std::string> string(const Node& node, const std::string& path, std::string_view example);
  std::optional<std::int64_t> integer(const Node& node, const std::string& path, std::int64_t least, std::int64_t most);
  // One of `words`; its index.
  std::optional<std::size_t> word(const Node& node, const std::string& path, std::span<const std::string_view> words);
  // A number from 0 to 1 times 10^decimals, exact: no exponent, and no more decimals than that.
  std::optional<std::int64_t> share(const Node& node, const std::string& path, int decimals);

  void bad(const Node& node, const std::string& path, std::string problem, std::string advice);
  void badKey(const document::Member& member, const std::string& path, std::string problem, std::string advice);
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  void add(document::Position position, const std::string& key, const std::string& value, std::string problem,
           std::string advice);
  void wrongKind(const Node& node, const std::string& path, std::string_view wanted, std::string advice);

  std::string file_;
  std::vector<policy::Finding>& findings_;
};

// "PATH.KEY"; "KEY" at the top.
std::string join(const std::string& path, std::string_view key);

}  // namespace memqos::config
