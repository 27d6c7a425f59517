// Byte offsets of a text as lines and columns.
#pragma once

#include <cstddef>
#include <string_view>

#include "document/node.h"

namespace memqos::document {

// Answers cheaply for offsets that mostly ascend, which is how parsers ask. The text must outlive it and be UTF-8.
class Places {
 public:
  // `firstLine`: the number of the text's first line, for a part of a larger text.
  explicit Places(std::string_view text, std::size_t firstLine = 1) : text_(text), position_{firstLine, 1} {}
  // The place of the character at `offset`; of the end for offsets beyond it.
  Position at(std::size_t offset);

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  Position position_;
};

// A failure whose sentence starts with the place.
tl::unexpected<Failure> failAt(Position position, std::string_view sentence);

}  // namespace memqos::document
