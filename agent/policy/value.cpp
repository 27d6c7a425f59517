#include "policy/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/log.h"
#include "policy/finding.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

constexpr std::size_t kLongestText = 256;

tl::unexpected<BadText> bad(std::string problem, std::string advice) {
  return tl::unexpected(BadText{std::move(problem), std::move(advice)});
}

std::string writeOneOf(const KnobInfo& knob) {
  return "write " + describeValues(knob);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  return text;
}

// "64MB", "64mb", "64 MiB", "64m" -> "write 64M or 64Mi". nullopt: not a number with something like a unit.
std::optional<std::string> suggestUnit(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  const std::string unit = lowered(trimmed(text.substr(digits)));
  if (number.empty() || number == "." || number.size() > 20) return std::nullopt;
  if (unit == "b" || unit == "byte" || unit == "bytes") return fmt::format("write {}", number);
  constexpr std::string_view kUnits = "kmgtpe";
  if (unit.empty() || kUnits.find(unit[0]) == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(unit).substr(1);
  constexpr std::array<std::string_view, 7> kRests = {"", "b", "i", "ib", "byte", "bytes", "ibytes"};
  if (std::find(kRests.begin(), kRests.end(), rest) == kRests.end()) return std::nullopt;
  const char binary = upper(unit[0]);
  const char decimal = binary == 'K' ? 'k' : binary;
  return fmt::format("write {0}{1} or {0}{2}i", number, decimal, binary);
}

// base/'s errors read "what is wrong; what to do" and hold the text as it came.
tl::unexpected<BadText> fromBase(const Error& error, const KnobInfo& knob) {
  const std::string safe = log::escapeJson(error.sentence);
  const auto split = safe.rfind("; ");
  if (split == std::string::npos) return bad(safe, writeOneOf(knob));
  return bad(safe.substr(0, split), safe.substr(split + 2));
}

tl::expected<Asked, BadText> checkPercent(const KnobInfo& knob, std::string_view text) {
  if (knob.percentOf == Whole::none) {
    return bad(fmt::format("{} takes no percentage", knob.name), writeOneOf(knob));
  }
  const auto percent = parsePercent(text);
  if (!percent) return fromBase(percent.error(), knob);
  return *percent;
}

tl::expected<Asked, BadText> checkQuantity(const KnobInfo& knob, std::string_view text) {
  const auto quantity = parseQuantity(text);
  if (!quantity) {
    if (const auto unit = suggestUnit(text)) return bad(inQuotes(text) + " is not a quantity of bytes", *unit);
    if (const auto word = nearest(text, knob.keywords)) {
      return bad(fmt::format("{} is not a value of {}", inQuotes(text), knob.name),
                 fmt::format("did you mean {}?", *word));
    }
    const bool number = !text.empty() && std::string_view("0123456789+-.").find(text[0]) != std::string_view::npos;
    if (number) return fromBase(quantity.error(), knob);
    return bad(fmt::format("{} is not a value of {}", inQuotes(text), knob.name), writeOneOf(knob));
  }
  if (quantity->count < 0) return bad(inQuotes(text) + " is negative", writeOneOf(knob));
  if (quantity->count > 0 && *quantity < kPage) {
    const auto unit = text.back() == 'm' ? suggestUnit(text) : std::nullopt;
    const std::string bytes = fmt::format("{} is {} byte{}, less than a page", inQuotes(text), quantity->count,
                                          quantity->count == 1 ? "" : "s");
    if (unit) return bad(bytes + "; 'm' stands for thousandths", *unit);
    return bad(bytes, "write a unit (64Mi), or 0");
  }
  return Limit(*quantity);
}

tl::expected<Asked, BadText> checkFlag(const KnobInfo& knob, std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  constexpr std::array<std::string_view, 5> kTrue = {"true", "yes", "on", "1", "enabled"};
  constexpr std::array<std::string_view, 5> kFalse = {"false", "no", "off", "0", "disabled"};
  const std::string word = lowered(text);
  std::string advice = "write true or false";
  if (std::find(kTrue.begin(), kTrue.end(), word) != kTrue.end()) advice = "write true";
  if (std::find(kFalse.begin(), kFalse.end(), word) != kFalse.end()) advice = "write false";
  return bad(fmt::format("{} is not a value of {}", inQuotes(text), knob.name), advice);
}

tl::expected<Asked, BadText> checkKeyword(const KnobInfo& knob, std::string_view text) {
  const auto found = std::find(knob.keywords.begin(), knob.keywords.end(), text);
  if (found != knob.keywords.end()) return std::string(text);
  const auto near = nearest(text, knob.keywords);
  return bad(fmt::format("{} is not a value of {}", inQuotes(text), knob.name),
             near ? fmt::format("did you mean {}?", *near) : writeOneOf(knob));
}

}  // namespace

tl::expected<Asked, BadText> checkText(Knob which, std::string_view text) {
  const KnobInfo& knob = info(which);
  if (text.empty()) return bad("the value is empty", writeOneOf(knob) + ", or remove it");
  if (text.size() > kLongestText) {
    return bad(fmt::format("the value is {} bytes long", text.size()), writeOneOf(knob));
  }
  const std::string_view tidy = trimmed(text);
  if (tidy.size() != text.size()) {
    return bad(inQuotes(text) + " has white space around it",
               tidy.empty() ? writeOneOf(knob) : "write " + log::escapeJson(cut(tidy, 64)));
  }
  switch (knob.form) {
    case Form::className:
      return std::string(text);
    case Form::flag:
      return checkFlag(knob, text);
    case Form::keyword:
      return checkKeyword(knob, text);
    case Form::quantity:
      break;
  }
  if (std::find(knob.keywords.begin(), knob.keywords.end(), text) != knob.keywords.end()) {
    return text == "max" ? Asked(Limit::max()) : Asked(std::string(text));
  }
  return text.back() == '%' ? checkPercent(knob, text) : checkQuantity(knob, text);
}

}  // namespace memqos::policy
