#include "kube/lines.h"

namespace memqos::kube {

bool LineReader::feed(std::string_view part, const std::function<bool(std::string_view)>& line) {
  while (!part.empty()) {
    const std::size_t end = part.find('\n');
    const std::string_view piece = part.substr(0, end);
    tooLong_ = tooLong_ || rest_.size() + piece.size() > longest_;
    if (tooLong_) return false;
    if (end == std::string_view::npos) {
      rest_ += piece;
      return true;
    }
    part.remove_prefix(end + 1);
    bool more = true;
    if (rest_.empty()) {
      if (!piece.empty()) more = line(piece);  // most lines come whole: no copy
    } else {
      rest_ += piece;
      std::string whole;
      whole.swap(rest_);  // a long line's memory is not kept
      more = line(whole);
    }
    if (!more) return false;
  }
  return true;
}

}  // namespace memqos::kube
