// Tables for people: aligned text, safe against what outside strings hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace memqos::report {

// `text` for a terminal: control characters, line breaks, bidirectional overrides and bytes that are not UTF-8 are
// written as \n, \x1b, \u202e, ... so that a pod's strings can neither move the cursor nor forge a line.
std::string printable(std::string_view text);
// The number of terminal columns that valid UTF-8 takes: 2 for East Asian wide characters and emoji, 0 for combining
// marks.
std::size_t displayWidth(std::string_view text);

enum class Align { left, right };
struct Column {
  std::string title;
  Align align = Align::left;
  bool optional = false;  // left out where no row has a value
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns; missing ones are empty. Cells are made printable.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Title line and rows, each ending in a newline, without trailing blanks; "-" for empty cells except in the last
  // column.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> shown() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace memqos::report
