// For tests: objects as an API server writes them.
#pragma once

#include <string>
#include <vector>

namespace memqos::kube {

// A small pod of node n1, as JSON. `more` goes into metadata.
inline std::string podJson(const std::string& name, const std::string& version, const std::string& more = "") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"(","namespace":"shop","uid":"uid-)" +
         name + R"(","resourceVersion":")" + version + "\"" + (more.empty() ? "" : "," + more) +
         R"(},"spec":{"nodeName":"n1","containers":[{"name":"app"}]},"status":{}})";
}
inline std::string listJson(const std::string& version, const std::vector<std::string>& items,
                            const std::string& more = "") {
  std::string out = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" + version + "\"" +
                    (more.empty() ? "" : "," + more) + R"(},"items":[)";
  for (const std::string& item : items) out += (&item == &items.front() ? "" : ",") + item;
  return out + "]}";
}
inline std::string eventJson(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

}  // namespace memqos::kube
