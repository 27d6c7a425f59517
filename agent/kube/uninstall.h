// Pure: is the agent being removed for good, or only replaced? Asked when it is told to stop.
#pragma once

#include <optional>
#include <string>

#include "kube/transport/transport.h"
#include "loop/loop.h"

namespace memqos::kube {

class UninstallJudge {
 public:
  enum class Verdict { askAgain, uninstalled, keep };
  // 401 and 403 count when they lasted so long, each time with a token that was read anew: `helm uninstall` deletes the
  // DaemonSet, then the roles, then the account.
  static constexpr loop::Duration kRefusedFor = std::chrono::seconds(10);
  // A server that cannot be reached says nothing: everything is kept.
  static constexpr loop::Duration kUnreachableFor = std::chrono::seconds(3);

  // An answer about the agent's own DaemonSet.
  Verdict answered(loop::TimePoint now, const Result<Response>& answer);

 private:
  std::optional<loop::TimePoint> refusedSince_;
  std::optional<loop::TimePoint> unreachableSince_;
};

}  // namespace memqos::kube
