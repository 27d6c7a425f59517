#include "document/list_splitter.h"

namespace memqos::document {
namespace {

constexpr std::size_t kItemsDepth = 2;   // inside {"items": [
constexpr std::size_t kLongestKey = 64;  // of which more need not be known

bool isSpace(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

bool ListSplitter::feed(std::string_view part) {
  for (const char c : part) {
    if (!take(c)) return false;
    tooLong_ = text_.size() > longest_ || envelope_.size() > longest_;
    if (tooLong_) return false;
  }
  return true;
}

bool ListSplitter::take(char c) {
  if (inItems_) return takeInItems(c);
  takeOutside(c);
  return true;
}

// Strings and brackets.
void ListSplitter::follow(char c) {
  if (inString_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      inString_ = false;
    }
    return;
  }
  if (c == '"') inString_ = true;
  if (c == '{' || c == '[') ++depth_;
  if ((c == '}' || c == ']') && depth_ > 0) --depth_;
}

bool ListSplitter::takeInItems(char c) {
  const bool between = depth_ == kItemsDepth && !inString_;
  if (between && (c == ']' || c == ',')) {
    const bool more = text_.empty() || item_(text_);
    text_.clear();
    if (c == ']') {
      inItems_ = false;
      follow(c);
      envelope_ += c;
    }
    return more;
  }
  follow(c);
  if (!(between && isSpace(c))) text_ += c;
  return true;
}

void ListSplitter::takeOutside(char c) {
  const bool wasString = inString_;
  const std::size_t depth = depth_;
  follow(c);
  envelope_ += c;
  if (depth == 1 && wasString && readingKey_) {
    if (inString_ && key_.size() < kLongestKey) key_ += c;
    if (!inString_) readingKey_ = false;
    return;
  }
  if (wasString) return;
  if ((c == '{' && depth == 0) || (c == ',' && depth == 1)) expectKey_ = true;
  if (c == '"' && depth == 1 && expectKey_) {
    expectKey_ = false;
    readingKey_ = true;
    key_.clear();
  }
  if (c == '[' && depth == 1 && key_ == "items") inItems_ = true;
}

}  // namespace memqos::document
