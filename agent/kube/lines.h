// A body in parts -> its lines. Parts are no lines: a line may come in many, and many lines in one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace memqos::kube {

class LineReader {
 public:
  // Longer lines end it: an object of the API server has at most 1.5 MiB (etcd's limit), its JSON somewhat more.
  static constexpr std::size_t kLongest = std::size_t{8} << 20;
  explicit LineReader(std::size_t longest = kLongest) : longest_(longest) {}

  // `line` gets each complete line without its end; empty ones are left out. False: `line` said stop, or a line is too
  // long (tooLong()).
  bool feed(std::string_view part, const std::function<bool(std::string_view)>& line);
  [[nodiscard]] bool tooLong() const { return tooLong_; }
  // What came after the last line's end.
  [[nodiscard]] const std::string& rest() const { return rest_; }

 private:
  std::size_t longest_;
  std::string rest_;
  bool tooLong_ = false;
};

}  // namespace memqos::kube
