// Threads start with every signal blocked, so that signals stay with the loop.
#pragma once

#include <csignal>

namespace memqos::loop {

// Blocks all signals in the calling thread while it lives, except those that a fault raises (blocking them hides crash
// reports). Threads started meanwhile inherit the mask.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_{};
};

}  // namespace memqos::loop
