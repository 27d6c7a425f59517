#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "base/utf8.h"
#include "document/builder.h"
#include "document/node.h"
#include "document/places.h"
#include "document/scalar.h"

namespace memqos::document {
namespace {

// Ends yaml-cpp's parse from inside an event; never leaves parseYaml().
struct Abort : std::exception {
  explicit Abort(Failure f) : failure(std::move(f)) {}
  Failure failure;
};

[[noreturn]] void abortAt(Position position, std::string_view sentence) {
  throw Abort(failAt(position, sentence).value());
}

void orAbort(Builder::Problem problem) {
  if (problem) throw Abort(*std::move(problem));
}

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

// The kind of a scalar; nullopt for a tag that does not fit the text.
std::optional<Kind> kindOf(std::string_view tag, std::string_view text) {
  if (tag == "?" || tag.empty()) return resolvePlain(text);
  if (!tag.starts_with(kTagPrefix)) return Kind::string;  // "!" (quoted), and tags that Kubernetes' reader ignores
  const std::string_view type = tag.substr(kTagPrefix.size());
  const Kind kind = resolvePlain(text);
  const auto only = [&](Kind wanted) { return kind == wanted ? std::optional(kind) : std::nullopt; };
  if (type == "str" || type == "timestamp") return Kind::string;
  if (type == "int") return only(Kind::integer);
  if (type == "float") return kind == Kind::integer ? std::optional(Kind::real) : only(Kind::real);
  if (type == "bool") return only(Kind::boolean);
  if (type == "null") return only(Kind::null);
  return std::nullopt;
}

class Handler : public YAML::EventHandler {
 public:
  Handler(std::string_view text, const Caps& caps, std::size_t firstLine)
      : text_(text), caps_(caps), places_(text, firstLine), builder_(caps) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp starts a new document wherever a value ended early; YAML asks for a separator.
    const std::size_t start = offset(mark);
    if (documents_++ > 0 && text_.substr(std::min(start, text_.size()), 3) != "---") {
      abortAt(places_.at(start), "text after the end of the value; check the indentation of this line");
    }
    anchors_.clear();
  }
  void OnDocumentEnd() override {
    std::vector<Node>& roots = builder_.roots();
    if (!roots.empty() && roots.back().isNull()) roots.pop_back();
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    requireColon();
    scalar(mark, "?", anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Position position = place(mark);
    if (!caps_.aliases) abortAt(position, "aliases (*name) are not allowed here; write the value out");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) abortAt(position, "an alias inside the value that it names");
    const auto& [node, weight] = found->second;
    if (builder_.expectsKey()) {
      scalar(mark, node.kind == Kind::string ? "!" : "?", 0, node.scalar);
      return;
    }
    Node copy = node;
    copy.position = position;
    orAbort(builder_.subtree(copy, weight));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    requireEnd(mark);
    scalar(mark, tag, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Kind::list, mark, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Kind::map, mark, anchor, style);
  }
  void OnMapEnd() override { close(); }

  std::vector<Node>& roots() { return builder_.roots(); }
  Position place(const YAML::Mark& mark) { return places_.at(offset(mark)); }

 private:
  static std::size_t offset(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.pos, 0)); }

  void scalar(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor, const std::string& value) {
    refuseAnchor(mark, anchor);
    Node node;
    const auto kind = kindOf(tag, value);
    if (!kind) abortAt(place(mark), fmt::format("'{}' does not fit its tag {}", value.substr(0, 64), tag));
    node.kind = *kind;
    node.scalar = value;
    node.position = place(mark);
    // yaml-cpp places a missing value where the next text stands; its key says more.
    const Member* const owner = builder_.pendingKey();
    if (node.isNull() && owner != nullptr && node.position.line > owner->position.line) node.position = owner->position;
    if (anchor != YAML::NullAnchor) remember(anchor, node);
    if (builder_.expectsKey()) {
      key(std::move(node), tag);
      keyStart_ = textStart(mark);
    } else {
      orAbort(builder_.scalar(std::move(node)));
    }
  }

  // JSON has only strings as keys; Kubernetes' reader turns numbers and booleans into them.
  void key(Node node, std::string_view tag) {
    if (node.kind == Kind::null || node.kind == Kind::real) {
      abortAt(node.position, fmt::format("'{}' is {}, which cannot be a key; quote it", node.scalar, name(node.kind)));
    }
    const bool merge = tag == "?" && node.scalar == "<<";
    keyLength_ = node.scalar.size();
    orAbort(builder_.key(node.jsonText(), node.position, merge));
  }

  // Where the text of a scalar starts, after its anchor and tag.
  [[nodiscard]] std::size_t textStart(const YAML::Mark& mark) const {
    std::size_t at = std::min(offset(mark), text_.size());
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      // A tag may end without a blank: !x"text", !<x>'text'.
      const bool verbatim = text_.substr(at, 2) == "!<";
      const char* const ends = verbatim ? ">" : text_[at] == '!' ? " \t\r\n\"" : " \t\r\n";
      at = std::min(text_.find_first_of(ends, at), text_.size());
      if (verbatim && at < text_.size()) ++at;
      at = std::min(text_.find_first_not_of(kSpace, at), text_.size());
    }
    return at;
  }
  // The end of the quoted text that starts at `at`; npos if nothing closes it.
  [[nodiscard]] std::size_t quotedEnd(std::size_t at) const {
    const char quote = text_[at++];
    for (; at < text_.size(); ++at) {
      if (quote == '"' && text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        if (quote == '"' || text_.substr(at + 1, 1) != "'") return at + 1;
        ++at;
      }
    }
    return std::string_view::npos;
  }
  [[nodiscard]] bool isQuoted(std::size_t at) const {
    return at < text_.size() && (text_[at] == '"' || text_[at] == '\'');
  }

  // yaml-cpp takes the end of the text for the end of a quote, which a half-written file must not pass for.
  void requireEnd(const YAML::Mark& mark) {
    const std::size_t start = textStart(mark);
    if (isQuoted(start) && quotedEnd(start) == std::string_view::npos) {
      abortAt(places_.at(start), "this quote is not closed");
    }
  }

  // yaml-cpp takes a line without a ':' for a key without a value. Only {a, b} and "? a" may be so.
  void requireColon() {
    const Member* const pending = builder_.pendingKey();
    if (pending == nullptr || open_.back().style == YAML::EmitterStyle::Flow || keyStart_ >= text_.size()) return;
    const std::size_t before = text_.substr(0, keyStart_).find_last_not_of(kSpace);
    if (text_[keyStart_] == '*' || (before != std::string_view::npos && text_[before] == '?')) return;
    const std::size_t end = isQuoted(keyStart_) ? quotedEnd(keyStart_) : keyStart_ + keyLength_;
    const std::size_t next = text_.find_first_not_of(" \t", std::min(end, text_.size()));
    if (next == std::string_view::npos || text_[next] != ':')
      abortAt(pending->position, "a ':' is missing after this key");
  }

  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    refuseAnchor(mark, anchor);
    orAbort(builder_.open(kind, place(mark)));
    open_.push_back({anchor, style});
  }

  void close() {
    const YAML::anchor_t anchor = open_.back().anchor;
    open_.pop_back();
    if (anchor != YAML::NullAnchor) remember(anchor, builder_.current());
    orAbort(builder_.close());
  }

  void refuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor && !caps_.aliases) {
      abortAt(place(mark), "anchors (&name) are not allowed here; remove it");
    }
  }

  void remember(YAML::anchor_t anchor, const Node& node) {
    const Weight weight = weigh(node);
    orAbort(builder_.charge(weight, node.position));
    anchors_[anchor] = {node, weight};
  }

  std::string_view text_;
  Caps caps_;
  Places places_;
  Builder builder_;
  std::size_t documents_ = 0;
  struct Open {
    YAML::anchor_t anchor;
    YAML::EmitterStyle::value style;
  };
  std::vector<Open> open_;
  std::size_t keyStart_ = 0;   // of the last key: its offset
  std::size_t keyLength_ = 0;  // and the length of its text, which for a plain key is what is written
  std::map<YAML::anchor_t, std::pair<Node, Weight>> anchors_;
};

// YAML 1.1's printable characters (c-printable), which excludes most control characters.
bool isPrintable(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7F) || c == 0x85 ||
         (c >= 0xA0 && c <= 0xFFFD && c != 0xFEFF) || c >= 0x10000;
}

// The offset of the first byte that YAML text cannot have, with the reason.
std::optional<std::pair<std::size_t, std::string>> findForeign(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8Sequence(text.substr(at));
    if (length == 0) {
      return std::pair(at, fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text[at])));
    }
    const char32_t c = utf8CodePoint(text.substr(at, length));
    if (!isPrintable(c)) {
      return std::pair(
          at, fmt::format("control character U+{:04X}; use an escape in double quotes", static_cast<std::uint32_t>(c)));
    }
    at += length;
  }
  return std::nullopt;
}

// yaml-cpp's words, for people.
std::string explain(const std::string& message) {
  struct Row {
    std::string_view theirs, ours;
  };
  static const std::array<Row, 11> kTable = {{
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab cannot indent YAML; use spaces"},
      {YAML::ErrorMsg::MAP_VALUE, "a ':' that cannot be here; quote the text or check the indentation"},
      {YAML::ErrorMsg::END_OF_MAP, "this line does not belong to the map above; check its indentation and its ':'"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "a '}' or ',' is missing"},
      {YAML::ErrorMsg::END_OF_SEQ, "this line does not belong to the list above; check its indentation"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a ']' or ',' is missing"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a '-' that cannot be here; check the indentation, which must be spaces"},
      {YAML::ErrorMsg::FLOW_END, "a ']' or '}' that cannot be here; quote the text"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "an alias (*name) without an anchor (&name) before it"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "the text ends inside a quote"},
      {YAML::ErrorMsg::BAD_FILE, "nested too deeply"},
  }};
  for (const Row& row : kTable) {
    if (message == row.theirs) return std::string(row.ours);
  }
  return validUtf8(message);
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMostFailures = 32;

std::optional<Failure> tooLarge(std::string_view text, const Caps& caps) {
  if (text.size() <= caps.bytes) return std::nullopt;
  return failAt({1, 1}, fmt::format("{} bytes; at most {} are read", text.size(), caps.bytes)).value();
}

Parsed<std::vector<Node>> parsePart(std::string_view text, const Caps& caps, std::size_t firstLine) {
  if (const auto foreign = findForeign(text)) {
    return failAt(Places(text, firstLine).at(foreign->first), foreign->second);
  }
  Handler handler(text, caps, firstLine);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) {
    }
    return std::move(handler.roots());
  } catch (const Abort& abort) {
    return tl::unexpected<Failure>(abort.failure);
  } catch (const YAML::Exception& exception) {
    return failAt(handler.place(exception.mark), explain(exception.msg));
  } catch (const std::exception& exception) {
    return failAt({firstLine, 1}, fmt::format("cannot be read: {}", exception.what()));
  }
}

// Whether the line at `at` separates documents. "---" in the first column cannot be part of a value.
bool isSeparator(std::string_view text, std::size_t at) {
  if (text.substr(at, 3) != "---") return false;
  return at + 3 >= text.size() || std::string_view(" \t\r\n").find(text[at + 3]) != std::string_view::npos;
}

// The start of the next document after `from`, which is inside a line; the end of the text if there is none.
std::size_t nextSeparator(std::string_view text, std::size_t from) {
  for (auto line = text.find('\n', from); line != std::string_view::npos; line = text.find('\n', line + 1)) {
    if (isSeparator(text, line + 1)) return line + 1;
  }
  return text.size();
}

// Whether each line starts with one of `marks`, or is empty.
bool hasOnly(std::string_view marks, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    if (marks.find(text[at]) == std::string_view::npos && text[at] != '\r' && text[at] != '\n') return false;
  }
  return true;
}

// The end of the part that starts at `start`: a document, or the comments above one. Directives belong to what follows.
std::size_t partEnd(std::string_view text, std::size_t start) {
  const std::size_t end = nextSeparator(text, start);
  const std::string_view part = text.substr(start, end - start);
  return hasOnly("%#", part) && !hasOnly("#", part) && end < text.size() ? nextSeparator(text, end) : end;
}

}  // namespace

Parsed<std::vector<Node>> parseYaml(std::string_view text, const Caps& caps) {
  if (const auto failure = tooLarge(text, caps)) return tl::unexpected<Failure>(*failure);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return parsePart(text, caps, 1);
}

Documents parseYamlDocuments(std::string_view text, const Caps& caps) {
  Documents out;
  auto whole = parseYaml(text, caps);
  if (whole) {
    out.nodes = *std::move(whole);
    return out;
  }
  if (text.size() > caps.bytes) {
    out.failures.push_back(whole.error());
    return out;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Caps left = caps;
  std::size_t line = 1;
  for (std::size_t start = 0; start < text.size() && out.failures.size() < kMostFailures;) {
    const std::size_t end = partEnd(text, start);
    const std::string_view part = text.substr(start, end - start);
    if (!hasOnly("#", part) || findForeign(part)) {
      auto parsed = parsePart(part, left, line);
      if (!parsed) {
        out.failures.push_back(parsed.error());
      } else {
        for (Node& node : *parsed) {
          left.nodes -= std::min(left.nodes, weigh(node).nodes);
          out.nodes.push_back(std::move(node));
        }
      }
    }
    line += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    start = end;
  }
  if (out.failures.empty()) out.failures.push_back(whole.error());  // wrong only where two parts meet
  return out;
}

}  // namespace memqos::document
