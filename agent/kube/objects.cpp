#include "kube/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/finding.h"

namespace memqos::kube {
namespace {

using document::Kind;
using document::Node;

constexpr std::size_t kLongestText = 300;
constexpr std::int64_t kLongestRetryAfter = 3600;

}  // namespace

EventType eventType(std::string_view word) {
  constexpr std::array kWords = {std::pair{std::string_view("ADDED"), EventType::added},
                                 std::pair{std::string_view("MODIFIED"), EventType::modified},
                                 std::pair{std::string_view("DELETED"), EventType::deleted},
                                 std::pair{std::string_view("BOOKMARK"), EventType::bookmark},
                                 std::pair{std::string_view("ERROR"), EventType::error}};
  const auto* found = std::find_if(kWords.begin(), kWords.end(), [&](const auto& item) { return item.first == word; });
  return found == kWords.end() ? EventType::unknown : found->second;
}

std::string textAt(const Node& object, std::string_view path) {
  const Node* at = &object;
  while (at != nullptr) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return at == nullptr || at->kind != Kind::string ? std::string() : at->scalar;
}

std::string keyOf(const Node& object) {
  const std::string nameSpace = textAt(object, "metadata.namespace");
  const std::string name = textAt(object, "metadata.name");
  return nameSpace.empty() ? name : nameSpace + "/" + name;
}

Refusal decodeStatus(const Node& status, int httpStatus) {
  Refusal out{httpStatus};
  if (const Node* code = status.find("code"); code != nullptr) {
    if (const auto number = code->asInteger(); number && *number > 0 && *number < 1000)
      out.status = static_cast<int>(*number);
  }
  const Node* details = status.find("details");
  const Node* after = details == nullptr ? nullptr : details->find("retryAfterSeconds");
  if (after != nullptr) {
    if (const auto seconds = after->asInteger(); seconds && *seconds > 0)
      out.retryAfter = std::chrono::seconds(std::min(*seconds, kLongestRetryAfter));
  }
  const std::string message = textAt(status, "message");
  out.text =
      fmt::format("HTTP {}: {}", out.status, message.empty() ? "no reason given" : policy::cut(message, kLongestText));
  return out;
}

Refusal refusalOf(const Head& head, std::string_view body) {
  Refusal out{head.status};
  const auto parsed = document::parseJson(body);
  if (parsed && textAt(*parsed, "kind") == "Status") {
    out = decodeStatus(*parsed, head.status);
  } else {
    out.text = fmt::format("HTTP {}: the answer is not of an API server ({})", head.status,
                           head.contentType.empty() ? "no content type" : policy::cut(head.contentType, 64));
  }
  if (head.retryAfter) out.retryAfter = head.retryAfter;
  return out;
}

Refusal refusalOf(const Error& error) {
  return {.text = error.text()};
}

std::string codeLabel(const Result<Head>& result) {
  return result ? fmt::format("{}", result->status) : std::string(name(result.error().code));
}

}  // namespace memqos::kube
