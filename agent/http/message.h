// What travels over HTTP, as plain values.
#pragma once

#include <map>
#include <string>

namespace memqos::http {

struct Request {
  std::string method;
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; of a repeated key the last
  std::string body;                          // 1 MiB at most
};

inline constexpr const char* kText = "text/plain; charset=utf-8";
inline constexpr const char* kJson = "application/json";

struct Response {
  int status = 200;
  std::string contentType = kText;
  std::string body;
};

}  // namespace memqos::http
