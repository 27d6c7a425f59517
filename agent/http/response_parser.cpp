#include <algorithm>
#include <charconv>
#include <optional>

#include "http/client.h"

namespace memqos::http {
namespace {

tl::unexpected<Error> bad(std::string why) {
  return fail(Code::invalid, "the agent's answer " + std::move(why));
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool sameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::size_t> parseSize(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The text up to the next CRLF, which is taken off `rest`. nullopt: there is none.
std::optional<std::string_view> line(std::string_view& rest) {
  const auto end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const auto found = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return found;
}

Result<std::string> unchunked(std::string_view rest) {
  std::string body;
  for (;;) {
    const auto head = line(rest);
    if (!head) return bad("is cut short");
    const auto size = parseSize(trimmed(head->substr(0, head->find(';'))), 16);
    if (!size) return bad("has a chunk without a size");
    if (*size == 0) return body;  // trailers say nothing that we read
    if (rest.size() < 2 || *size > rest.size() - 2) return bad("is cut short");
    body += rest.substr(0, *size);
    if (rest.substr(*size, 2) != "\r\n") return bad("has a chunk of another size than it says");
    rest.remove_prefix(*size + 2);
  }
}

struct Headers {
  std::optional<std::size_t> length;
  bool chunked = false;
  std::string contentType;
};

Result<Headers> parseHeaders(std::string_view& rest) {
  Headers headers;
  for (;;) {
    const auto text = line(rest);
    if (!text) return bad("is cut short");
    if (text->empty()) return headers;
    const auto colon = text->find(':');
    if (colon == std::string_view::npos) return bad("has a header without a colon");
    const auto name = text->substr(0, colon);
    const auto value = trimmed(text->substr(colon + 1));
    if (sameWord(name, "content-type")) headers.contentType = value;
    if (sameWord(name, "transfer-encoding")) headers.chunked = sameWord(value, "chunked");
    if (sameWord(name, "content-length")) {
      headers.length = parseSize(value, 10);
      if (!headers.length) return bad("has a length that is no number");
    }
  }
}

}  // namespace

Result<Response> parseResponse(std::string_view text, bool head) {
  const auto status = line(text);
  // "HTTP/1.1 200 OK"
  if (!status || !status->starts_with("HTTP/1.") || status->size() < 12 || (*status)[8] != ' ')
    return bad("is not HTTP");
  const auto code = parseSize(status->substr(9, 3), 10);
  if (!code || *code < 100 || *code > 599) return bad("has no status");
  const auto headers = parseHeaders(text);
  if (!headers) return tl::unexpected(headers.error());
  Response response{static_cast<int>(*code), headers->contentType, {}};
  if (head) return response;
  if (headers->chunked) {
    auto body = unchunked(text);
    if (!body) return tl::unexpected(body.error());
    response.body = std::move(*body);
    return response;
  }
  if (headers->length && *headers->length > text.size()) return bad("is cut short");
  response.body = text.substr(0, headers->length.value_or(text.size()));
  return response;
}

}  // namespace memqos::http
