// A JSON list object of an API server, in parts as they come, -> its items one by one: a long list never has to be in
// memory as a whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace memqos::document {

class ListSplitter {
 public:
  // `item` gets the text of each element of the top-level member "items", complete, to be parsed there; false: stop.
  // Longer items than `longest` bytes, and as much beside the items, end it.
  explicit ListSplitter(std::function<bool(std::string_view)> item, std::size_t longest = std::size_t{8} << 20)
      : item_(std::move(item)), longest_(longest) {}

  // False: `item` said stop, or too long (tooLong()).
  bool feed(std::string_view part);
  // All that is no item: the same object with an empty list, to be parsed at the end. Text that is not such a list
  // comes back as it is. Whether it is JSON is for the parser to say; here only strings and brackets are told apart.
  [[nodiscard]] const std::string& envelope() const { return envelope_; }
  [[nodiscard]] bool tooLong() const { return tooLong_; }

 private:
  bool take(char c);
  bool takeInItems(char c);
  void takeOutside(char c);
  void follow(char c);

  std::function<bool(std::string_view)> item_;
  std::size_t longest_;
  std::string envelope_;
  std::string text_;       // of the item that is being read
  std::string key_;        // of the top-level member, while it is read and until the next
  std::size_t depth_ = 0;  // of brackets
  bool inString_ = false;
  bool escaped_ = false;
  bool readingKey_ = false;
  bool expectKey_ = false;
  bool inItems_ = false;
  bool tooLong_ = false;
};

}  // namespace memqos::document
