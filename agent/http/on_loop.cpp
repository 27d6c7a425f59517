#include "http/on_loop.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace memqos::http {
namespace {

// Lives until both sides are done with it.
struct Meeting {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Response> response;
  bool abandoned = false;
};

}  // namespace

Response onLoopLater(loop::Loop& loop, loop::Duration timeout, std::function<void(Reply)> ask) {
  const auto meeting = std::make_shared<Meeting>();
  loop.post([meeting, ask = std::move(ask)] {
    {
      const std::lock_guard lock(meeting->mutex);
      if (meeting->abandoned) return;
    }
    ask([meeting](Response response) {
      const std::lock_guard lock(meeting->mutex);
      if (meeting->response) return;
      meeting->response = std::move(response);
      meeting->arrived.notify_one();
    });
  });
  std::unique_lock lock(meeting->mutex);
  if (meeting->arrived.wait_for(lock, timeout, [&] { return meeting->response.has_value(); })) {
    return std::move(*meeting->response);
  }
  meeting->abandoned = true;
  return {503, kText, "the agent is busy and did not answer in time\n"};
}

Response onLoop(loop::Loop& loop, loop::Duration timeout, std::function<Response()> answer) {
  return onLoopLater(loop, timeout, [answer = std::move(answer)](const Reply& reply) { reply(answer()); });
}

}  // namespace memqos::http
