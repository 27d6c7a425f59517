#include <yaml-cpp/emitter.h>

#include <algorithm>

#include "base/utf8.h"
#include "document/node.h"
#include "document/scalar.h"

namespace memqos::document {
namespace {

// Longer keys need YAML's explicit form ("? key"), which readers accept at any length.
constexpr std::size_t kLongestSimpleKey = 512;

bool hasUnsafe(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8Sequence(text);
    const char32_t c = length > 0 ? utf8CodePoint(text.substr(0, length)) : U'\uFFFD';
    if (!isPrintable(c) || (length > 1 && actsOnTerminal(c))) return true;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return false;
}

// Text that some reader takes for something else than a string is quoted; what terminals act on or YAML cannot have is
// escaped.
void emitString(YAML::Emitter& out, const std::string& text) {
  if (hasUnsafe(text)) {
    out << YAML::DoubleQuoted << YAML::EscapeNonAscii;
  } else if (resolvePlain(text) != Kind::string || text == "<<" || text == "=" || text.starts_with("---") ||
             text.starts_with("...") ||  // marks of documents, at the start of a line
             text.find_first_of("\n\r\t") != std::string::npos) {
    out << YAML::DoubleQuoted;
  }
  out << validUtf8(text);
}

void emit(YAML::Emitter& out, const Node& node) {
  switch (node.kind) {
    case Kind::null:
      out << YAML::Null;
      return;
    case Kind::string:
      emitString(out, node.scalar);
      return;
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      out << node.jsonText();
      return;
    case Kind::list:
      out << (node.items.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const Node& item : node.items) emit(out, item);
      out << YAML::EndSeq;
      return;
    case Kind::map:
      out << (node.members.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const Member& member : node.members) {
        if (member.key.size() > kLongestSimpleKey) out << YAML::LongKey;
        out << YAML::Key;
        emitString(out, member.key);
        out << YAML::Value;
        emit(out, member.value);
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

std::string dumpYaml(const Node& node) {
  YAML::Emitter out;
  emit(out, node);
  return std::string(out.c_str()) + "\n";
}

}  // namespace memqos::document
