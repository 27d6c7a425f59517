// What every object of the API server has, and its answers about itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "document/node.h"
#include "kube/reflector.h"
#include "kube/transport/transport.h"

namespace memqos::kube {

enum class EventType { added, modified, deleted, bookmark, error, unknown };
EventType eventType(std::string_view word);  // "ADDED", ...

// A member of `object` below maps, "metadata.resourceVersion"; "" where there is no such string.
std::string textAt(const document::Node& object, std::string_view path);
// "NAMESPACE/NAME", or "NAME" of an object without a namespace.
std::string keyOf(const document::Node& object);

// A Status, in an answer or in a watch. What is no Status gives a refusal with `status` and a text that says so.
Refusal decodeStatus(const document::Node& status, int httpStatus);
// Of an answer that is no success: its Status, or what else it is (a proxy's page), in a few words.
Refusal refusalOf(const Head& head, std::string_view body);
Refusal refusalOf(const Error& error);

// The `code` label of api_requests_total: an HTTP status, or the word of the error.
std::string codeLabel(const Result<Head>& result);

}  // namespace memqos::kube
