// For the tests of this room: recorded answers, and a server that plays them without a socket.
#pragma once

#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kube/fake_objects.h"
#include "kube/transport/transport.h"

namespace memqos::kube {

inline std::string recorded(const std::string& name) {
  std::ifstream in(std::string(MEMQOS_SOURCE_DIR) + "/agent/kube/testdata/" + name);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each request gets the next answer.
class ScriptedTransport final : public Transport {
 public:
  struct Answer {
    int status = 200;
    std::vector<std::string> parts;
    std::optional<Error> error{};  // after the parts
    std::string contentType = "application/json";
    std::optional<std::chrono::seconds> retryAfter{};
  };
  void then(Answer answer) { answers_.push_back(std::move(answer)); }
  [[nodiscard]] const std::vector<Request>& requests() const { return requests_; }
  [[nodiscard]] std::string query(std::size_t request, const std::string& key) const {
    for (const auto& [name, value] : requests_.at(request).query) {
      if (name == key) return value;
    }
    return "-";
  }

  Result<Head> stream(const Request& request, const Part& part, std::stop_token) override {
    requests_.push_back(request);
    if (answers_.empty()) return fail(Code::io, "nobody is there");
    const Answer answer = std::move(answers_.front());
    answers_.pop_front();
    const Head head{answer.status, answer.contentType, answer.retryAfter};
    if (!part(head, {})) return head;
    for (const std::string& text : answer.parts) {
      if (!part(head, text)) return head;
    }
    if (answer.error) return tl::unexpected(*answer.error);
    return head;
  }

 private:
  std::deque<Answer> answers_;
  std::vector<Request> requests_;
};

}  // namespace memqos::kube
