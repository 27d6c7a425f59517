#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "document/builder.h"
#include "document/node.h"
#include "document/places.h"
#include "document/scalar.h"

namespace memqos::document {
namespace {

using Json = nlohmann::ordered_json;

// nlohmann's events carry no place. They come in the order of the text, so a cursor that skips token by token has it.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text), places_(text) {}

  // The text of the next token as written; place() is where it starts.
  std::string_view next() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n,:", at_), text_.size());
    position_ = places_.at(at_);
    const std::size_t start = at_;
    if (at_ == text_.size()) return {};
    const char first = text_[at_++];
    if (first == '"') {
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2U : 1U;
      ++at_;
    } else if (first != '{' && first != '}' && first != '[' && first != ']') {
      at_ = text_.find_first_of(" \t\r\n,:{}[]", at_);
    }
    at_ = std::min(at_, text_.size());
    return text_.substr(start, at_ - start);
  }
  [[nodiscard]] Position place() const { return position_; }
  Position placeOf(std::size_t offset) { return places_.at(offset); }

 private:
  std::string_view text_;
  Places places_;
  std::size_t at_ = 0;
  Position position_;
};

// The useful part of "[json.exception...] parse error at line 1, column 2: syntax error while parsing object key -
// invalid literal; last read: '{x'; expected string literal", without the quoted outside text.
std::string explain(const std::string& message) {
  const std::size_t detail = message.find(" - ");
  if (detail == std::string::npos) return "not valid JSON";
  const std::string what = message.substr(detail + 3, message.find("; last read", detail) - detail - 3);
  const std::size_t expected = message.rfind("; expected ");
  return fmt::format("not valid JSON: {}{}", what,
                     expected == std::string::npos || expected < detail + what.size() ? "" : message.substr(expected));
}

class Handler {
 public:
  Handler(std::string_view text, const Caps& caps) : cursor_(text), builder_(caps) {}

  bool null() { return scalar(Kind::null); }
  bool boolean(bool /*value*/) { return scalar(Kind::boolean); }
  bool number_integer(std::int64_t /*value*/) { return scalar(Kind::integer); }
  bool number_unsigned(std::uint64_t /*value*/) { return scalar(Kind::integer); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return scalar(Kind::real); }
  bool string(std::string& value) { return scalar(Kind::string, &value); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Kind::map); }
  bool start_array(std::size_t /*size*/) { return open(Kind::list); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& text) {
    cursor_.next();
    return keep(builder_.key(std::move(text), cursor_.place()));
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& exception) {
    failure_ = failAt(cursor_.placeOf(position > 0 ? position - 1 : 0), explain(exception.what())).value();
    return false;
  }

  std::vector<Node>& roots() { return builder_.roots(); }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  bool keep(Builder::Problem problem) {
    failure_ = std::move(problem);
    return !failure_;
  }
  bool scalar(Kind kind, std::string* value = nullptr) {
    const std::string_view written = cursor_.next();
    Node node;
    node.kind = kind;
    if (value != nullptr) {
      node.scalar = std::move(*value);
    } else if (kind != Kind::null) {
      node.scalar = written;
    }
    node.position = cursor_.place();
    return keep(builder_.scalar(std::move(node)));
  }
  bool open(Kind kind) {
    cursor_.next();
    return keep(builder_.open(kind, cursor_.place()));
  }
  bool close() {
    cursor_.next();
    return keep(builder_.close());
  }

  Cursor cursor_;
  Builder builder_;
  std::optional<Failure> failure_;
};

Json toJson(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return parseBoolean(node.scalar).value_or(false);
    case Kind::string:
      return node.scalar;
    case Kind::integer:
      if (const auto value = parseInteger(node.scalar)) {
        if (!value->negative) return value->magnitude;
        return static_cast<std::int64_t>(std::uint64_t{0} - value->magnitude);
      }
      return node.scalar;
    case Kind::real: {
      const auto value = node.asReal();
      return value ? Json(*value) : Json(node.scalar);
    }
    case Kind::list: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(toJson(item));
      return list;
    }
    case Kind::map: {
      Json map = Json::object();
      // Past operator[], which would search the whole map for each key; keys are unique already.
      auto& members = map.get_ref<Json::object_t&>();
      for (const Member& member : node.members) members.emplace_back(member.key, toJson(member.value));
      return map;
    }
  }
  return nullptr;
}

// JSON escapes only U+0000 to U+001F; people look at it on terminals, which act on more. Outside of strings JSON has
// neither DEL nor characters beyond ASCII.
std::string escapedForTerminals(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8Sequence(json), 1);
    const char32_t point = utf8CodePoint(json.substr(0, length));
    if (point >= 0x7F && actsOnTerminal(point)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return out;
}

}  // namespace

Parsed<Node> parseJson(std::string_view text, const Caps& caps) {
  if (text.size() > caps.bytes) {
    return failAt({1, 1}, fmt::format("{} bytes; at most {} are read", text.size(), caps.bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) return failAt({1, 1}, "JSON must not start with a byte order mark");
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {  // nlohmann's end of the text
    return failAt(Places(text).at(nul), "not valid JSON: a NUL character");
  }
  Handler handler(text, caps);
  try {
    if (!Json::sax_parse(text.begin(), text.end(), &handler) || handler.roots().size() != 1) {
      return tl::unexpected<Failure>(handler.failure().value_or(failAt({1, 1}, "not valid JSON").value()));
    }
    return std::move(handler.roots().front());
  } catch (const std::exception& exception) {
    return failAt({1, 1}, fmt::format("cannot be read: {}", exception.what()));
  }
}

std::string dumpJson(const Node& node, int indent) {
  return escapedForTerminals(toJson(node).dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace memqos::document
