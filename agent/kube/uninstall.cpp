#include "kube/uninstall.h"

#include "document/node.h"
#include "kube/objects.h"

namespace memqos::kube {

UninstallJudge::Verdict UninstallJudge::answered(loop::TimePoint now, const Result<Response>& answer) {
  const int status = answer ? answer->head.status : 0;
  if (status == 200) {
    const auto object = document::parseJson(answer->body);
    if (object && textAt(*object, "kind") == "DaemonSet") {
      return textAt(*object, "metadata.deletionTimestamp").empty() ? Verdict::keep : Verdict::uninstalled;
    }
  }
  if (status == 404) {
    const auto object = document::parseJson(answer->body);  // a proxy has pages of that number too
    if (object && textAt(*object, "reason") == "NotFound") return Verdict::uninstalled;
  }
  if (status == 401 || status == 403) {
    unreachableSince_.reset();
    if (!refusedSince_) refusedSince_ = now;
    return now - *refusedSince_ >= kRefusedFor ? Verdict::uninstalled : Verdict::askAgain;
  }
  refusedSince_.reset();
  if (!unreachableSince_) unreachableSince_ = now;
  return now - *unreachableSince_ >= kUnreachableFor ? Verdict::keep : Verdict::askAgain;
}

}  // namespace memqos::kube
