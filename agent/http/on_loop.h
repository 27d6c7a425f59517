// From a server's thread to the loop, which owns all state, and back.
#pragma once

#include <functional>

#include "http/message.h"
#include "loop/loop.h"

namespace memqos::http {

// Runs `answer` on the loop's thread and waits for it. 503 if the loop does not come to it within `timeout`; then it
// never runs. Must not be called on the loop's thread, which would wait for itself.
Response onLoop(loop::Loop& loop, loop::Duration timeout, std::function<Response()> answer);

// May be called once, on the loop's thread, at once or later (from a lane's result, say); dropping it is an answer that
// never comes.
using Reply = std::function<void(Response)>;
// The same for what cannot answer at once: `ask` runs on the loop's thread, and the wait is for its Reply.
Response onLoopLater(loop::Loop& loop, loop::Duration timeout, std::function<void(Reply)> ask);

}  // namespace memqos::http
