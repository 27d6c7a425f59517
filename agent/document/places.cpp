#include "document/places.h"

#include <fmt/format.h>

#include <algorithm>

namespace memqos::document {

Position Places::at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  if (offset < offset_) {
    const std::string_view before = text_.substr(0, offset);
    const std::size_t newline = before.rfind('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view skipped = text_.substr(start, offset_ - start);
    position_.line -= static_cast<std::size_t>(std::count(skipped.begin(), skipped.end(), '\n'));
    position_.column = 1;
    offset_ = start;
  }
  for (; offset_ < offset; ++offset_) {
    const auto byte = static_cast<unsigned char>(text_[offset_]);
    if (byte == '\n') {
      ++position_.line;
      position_.column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {
      ++position_.column;
    }
  }
  return position_;
}

namespace {
std::string prefix(Position position) {
  return fmt::format("line {}, column {}: ", position.line, position.column);
}
}  // namespace

tl::unexpected<Failure> failAt(Position position, std::string_view sentence) {
  return tl::unexpected<Failure>(Failure{position, Error{Code::invalid, 0, "", prefix(position).append(sentence)}});
}

std::string Failure::problem() const {
  const std::string place = prefix(position);
  return error.sentence.starts_with(place) ? error.sentence.substr(place.size()) : error.sentence;
}

}  // namespace memqos::document
