// UTF-8 of outside text: what is valid, and how to make it so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memqos {

// The length of the UTF-8 sequence that `text` starts with; 0 if there is none (overlong forms and surrogates
// included).
std::size_t utf8Sequence(std::string_view text);
// The code point of a sequence that utf8Sequence() accepted.
char32_t utf8CodePoint(std::string_view sequence);
// Characters that a terminal acts on instead of showing them: C0, DEL and C1 controls, zero-width and bidirectional
// formatting, line and paragraph separators, the byte order mark. All are below U+10000.
bool actsOnTerminal(char32_t c);
// `text` with every byte that is not part of a valid sequence replaced by U+FFFD.
std::string validUtf8(std::string_view text);

}  // namespace memqos
