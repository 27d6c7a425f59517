#include "policy/finding.h"

#include "base/log.h"

namespace memqos::policy {

std::string_view cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  // Continuation bytes are 10xxxxxx; a sequence has at most three of them.
  std::size_t end = bytes;
  for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U; ++i) --end;
  return text.substr(0, end);
}

std::string inQuotes(std::string_view text) {
  constexpr std::size_t kMost = 64;
  const std::string_view shown = cut(text, kMost);
  return "'" + log::escapeJson(shown) + (shown.size() < text.size() ? "..." : "") + "'";
}

std::string kept(std::string_view text) {
  constexpr std::size_t kMost = 256;
  constexpr std::string_view kMark = "...";
  if (text.size() <= kMost) return std::string(text);
  return std::string(cut(text, kMost - kMark.size())) + std::string(kMark);
}

}  // namespace memqos::policy
