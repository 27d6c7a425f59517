#include <utility>

#include "http/server.h"

namespace memqos::http {

Routes& Routes::add(std::string method, std::string path, Handler handler) {
  byPath_[std::move(path)][std::move(method)] = std::move(handler);
  return *this;
}

const Handler* Routes::find(std::string_view method, const std::string& path, Response& refusal,
                            std::string& allowed) const {
  const auto methods = byPath_.find(path);
  if (methods == byPath_.end()) {
    refusal = {404, kText, "no such page\n"};
    return nullptr;
  }
  const auto handler = methods->second.find(method == "HEAD" ? "GET" : method);
  if (handler != methods->second.end()) return &handler->second;
  for (const auto& [name, unused] : methods->second) {
    allowed += (allowed.empty() ? "" : ", ") + name + (name == "GET" ? ", HEAD" : "");
  }
  refusal = {405, kText, "this page takes " + allowed + "\n"};
  return nullptr;
}

}  // namespace memqos::http
