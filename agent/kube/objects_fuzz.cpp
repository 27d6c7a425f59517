// What an API server, or who stands in for it, sends: lines of a watch, pods, statuses, a runtime's config.json, a
// kubeconfig.
#include "kube/objects.h"

#include <algorithm>

#include "kube/access.h"
#include "kube/bundle.h"
#include "kube/lines.h"
#include "kube/pods.h"
#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);

  std::string joined;
  kube::LineReader whole;
  kube::LineReader bytes;
  const auto join = [](std::string& out) {
    return [&out](std::string_view line) {
      out += line;
      out += '\n';
      return true;
    };
  };
  std::string byBytes;
  whole.feed(text, join(joined));
  for (const char c : text) bytes.feed({&c, 1}, join(byBytes));
  require(joined == byBytes && whole.rest() == bytes.rest(), "lines do not depend on the cuts");

  (void)kube::refusalOf(kube::Head{500, "text/html", {}}, text);
  if (const auto yaml = document::parseYaml(text); yaml && !yaml->empty()) {
    const auto access = kube::decodeKubeconfig(yaml->front(), "/folder");
    require(!access || access->server.starts_with("https://") ||
                (access->token.empty() && access->clientCertificate.empty()),
            "credentials go over TLS only");
  }
  const auto object = document::parseJson(text);
  if (!object) return 0;
  (void)kube::decodeStatus(*object, 500);
  (void)kube::decodeAllocatable(*object);
  if (const auto names = kube::decodeBundle(*object)) require(!names->pod.empty(), "a bundle names a pod");
  if (const auto pod = kube::decodePod(*object)) {
    std::size_t kept = 0;
    for (const auto& annotation : pod->record.pod.annotations) kept += annotation.key.size() + annotation.value.size();
    require(kept <= kube::kAnnotationBytes, "annotations are bounded");
    require(pod->record.identity.uid == pod->record.pod.uid && !pod->record.pod.uid.empty(), "a pod has a UID");
    require(pod->record.allocated.size() <= pod->record.identity.containers.size(), "only containers of the spec");
  }
  return 0;
}
