#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace memqos::report {
namespace {

using Range = std::pair<char32_t, char32_t>;

// Coarse on purpose: enough to keep columns straight, from the blocks of Unicode 15's EastAsianWidth.txt.
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F900, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 4> kZeroWidth = {{{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const Range& r) { return c >= r.first && c <= r.second; });
}

std::string escaped(char32_t c) {
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  const auto number = static_cast<unsigned>(c);
  return number <= 0xFF ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::size_t used = displayWidth(cell);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return align == Align::right ? blanks + cell : cell + blanks;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Sequence(text);
    const std::string_view sequence = text.substr(0, length);
    if (length == 0) {
      out += escaped(static_cast<unsigned char>(text[0]));
    } else if (const char32_t c = utf8CodePoint(sequence); actsOnTerminal(c)) {
      out += escaped(c);
    } else {
      out += sequence;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t displayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8Sequence(text), 1);
    const char32_t c = utf8CodePoint(text.substr(0, length));
    width += in(kZeroWidth, c) ? 0U : in(kWide, c) ? 2U : 1U;
    text.remove_prefix(length);
  }
  return width;
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::shown() const {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool used = std::any_of(rows_.begin(), rows_.end(), [i](const auto& row) { return !row[i].empty(); });
    if (used || !columns_[i].optional) indexes.push_back(i);
  }
  return indexes;
}

std::string Table::text(std::size_t indent) const {
  const std::vector<std::size_t> indexes = shown();
  std::vector<std::vector<std::string>> lines(1);
  for (const std::size_t i : indexes) lines.front().push_back(columns_[i].title);
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (const std::size_t i : indexes) line.push_back(row[i].empty() && i != indexes.back() ? "-" : row[i]);
  }
  std::vector<std::size_t> widths(indexes.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], displayWidth(line[i]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string joined(indent, ' ');
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) joined += "  ";
      joined += padded(line[i], widths[i], columns_[indexes[i]].align);
    }
    joined.erase(joined.find_last_not_of(' ') + 1);
    out += joined + '\n';
  }
  return out;
}

}  // namespace memqos::report
