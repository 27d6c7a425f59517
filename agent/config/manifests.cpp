#include "config/manifests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/file.h"
#include "config/folder.h"
#include "document/node.h"
#include "policy/pod_decoder.h"
#include "policy/suggest.h"

namespace memqos::config {
namespace {

using document::Kind;
using document::Node;
using policy::Finding;

Finding invalid(const std::string& file, document::Position position, std::string problem, std::string advice) {
  Finding finding;
  finding.reason = policy::Reason::invalidManifest;
  finding.problem = std::move(problem);
  finding.advice = std::move(advice);
  finding.source = {file, position, ""};
  return finding;
}

// Kinds that memqos reads, by their right spelling.
constexpr std::array<std::string_view, 10> kKinds = {"Pod",         "List",      "PodList",    "Deployment",
                                                     "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController",
                                                     "Job",         "CronJob"};

bool sameLetters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Kinds of the same name exist in other API groups, with other fields.
bool isKubernetes(const Node& object) {
  const Node* version = object.find("apiVersion");
  if (version == nullptr || version->kind != Kind::string) return true;
  const auto slash = version->scalar.find('/');
  const std::string_view group = std::string_view(version->scalar).substr(0, slash);
  return slash == std::string::npos || group == "apps" || group == "batch" || group == "extensions";
}

class Reader {
 public:
  Reader(const std::string& file, Templates templates) : file_(file), templates_(templates) {}

  // `defaultKind`: what an item of a list is that does not say.
  void object(const Node& node, const std::string& defaultKind) {
    if (node.kind != Kind::map) {
      bad(node, "kind", fmt::format("this is {}, not a Kubernetes object", name(node.kind)),
          "write apiVersion, kind, metadata and spec");
      return;
    }
    const Node* given = node.find("kind");
    std::string kind = defaultKind;
    if (given != nullptr && !given->isNull()) {
      if (given->kind != Kind::string) {
        bad(*given, "kind", "this is not a string", "write e.g. kind: Pod");
        return;
      }
      kind = given->scalar;
    }
    if (kind.empty()) {
      bad(node, "kind", "it is missing, so this is no Kubernetes object", "write e.g. kind: Pod");
      return;
    }
    if (!isKubernetes(node)) return;
    if (kind.ends_with("List") && kind.size() >= 4 && node.find("items") != nullptr) {
      list(node, kind.substr(0, kind.size() - 4));
    } else if (kind == "Pod") {
      take(policy::decodePod(node, {file_, node.position, kind}));
    } else if (policy::isWorkload(kind)) {
      if (templates_ == Templates::include) take(policy::decodeTemplate(node, {file_, node.position, kind}));
    } else {
      misspelt(*(given != nullptr ? given : &node), kind);
    }
  }

  void failure(const document::Failure& failure) {
    out_.findings.push_back(invalid(file_, failure.position, failure.problem(), ""));
  }
  Manifests take() { return std::move(out_); }

 private:
  void list(const Node& node, const std::string& itemKind) {
    const Node& items = *node.find("items");
    if (items.isNull()) return;
    if (items.kind != Kind::list) {
      bad(items, "items", fmt::format("this is {}, not a list", name(items.kind)), "write a list of objects");
      return;
    }
    for (const Node& item : items.items) object(item, itemKind);
  }
  void misspelt(const Node& node, const std::string& kind) {
    for (const std::string_view right : kKinds) {
      if (sameLetters(kind, right))
        bad(node, "kind", fmt::format("there is no kind {}", policy::inQuotes(kind)),
            fmt::format("did you mean {}?", right));
    }
  }
  void take(policy::Decoded decoded) {
    std::move(decoded.findings.begin(), decoded.findings.end(), std::back_inserter(out_.findings));
    if (decoded.pod) out_.pods.push_back(*std::move(decoded.pod));
  }
  void bad(const Node& node, const std::string& key, std::string problem, std::string advice) {
    Finding finding = invalid(file_, node.position, std::move(problem), std::move(advice));
    finding.key = key;
    finding.value = policy::kept(node.scalar);
    out_.findings.push_back(std::move(finding));
  }

  std::string file_;
  Templates templates_;
  Manifests out_;
};

// A pipe, so read(2) until the end; one byte more than the cap, for the parser to refuse.
Result<std::string> readStdin() {
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() <= kLargestFile) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failErrno(errno, "cannot read", "-");
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Manifests parseManifests(std::string_view text, const std::string& file, Templates templates) {
  Reader reader(file, templates);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  // JSON by its own parser, whose words fit better; a YAML map in braces is YAML.
  const bool mustBeJson = std::string_view(file).ends_with(".json");
  if (mustBeJson || (first != std::string_view::npos && text[first] == '{')) {
    const auto json = document::parseJson(text);
    if (json) reader.object(*json, "");
    if (!json && mustBeJson) reader.failure(json.error());
    if (json || mustBeJson) return reader.take();
  }
  const document::Documents read = document::parseYamlDocuments(text);
  for (const Node& node : read.nodes) reader.object(node, "");
  for (const document::Failure& failure : read.failures) reader.failure(failure);
  return reader.take();
}

void dropDuplicates(Manifests& manifests) {
  std::map<std::string, policy::Source> seen;
  std::vector<policy::Pod> kept;
  for (policy::Pod& pod : manifests.pods) {
    const std::string byName = fmt::format("{}/{}/{}", pod.source.kind, pod.nameSpace, pod.name);
    const std::string byUid = fmt::format("uid {}", pod.uid);
    auto other = seen.find(byName);
    const bool sameName = other != seen.end();
    if (!sameName) other = seen.find(byUid);
    if (other == seen.end()) {
      seen.emplace(byName, pod.source);
      seen.emplace(byUid, pod.source);
      kept.push_back(std::move(pod));
      continue;
    }
    Finding finding;
    finding.reason = policy::Reason::duplicatePod;
    finding.nameSpace = pod.nameSpace;
    finding.pod = pod.name;
    finding.uid = pod.uid;
    finding.key = sameName ? "metadata.name" : "metadata.uid";
    finding.value = sameName ? pod.name : pod.uid;
    finding.problem = fmt::format("already used in {}, line {}; this manifest is ignored", other->second.file,
                                  other->second.position.line);
    finding.advice = sameName ? "remove one of them, or rename it" : "remove the uid, or one of them";
    finding.source = pod.source;
    manifests.findings.push_back(std::move(finding));
  }
  manifests.pods = std::move(kept);
}

Result<Manifests> readManifests(const std::string& path, Templates templates) {
  const auto text = path == "-" ? readStdin() : readFile(path, kLargestFile);
  if (!text) return tl::unexpected<Error>(text.error());
  Manifests out = parseManifests(*text, path, templates);
  dropDuplicates(out);
  return out;
}

const Manifests& FolderCache::parsed(const std::string& file, std::string text) {
  Item& item = items_[file];
  const bool fresh = item.manifests.pods.empty() && item.manifests.findings.empty();
  if (fresh || item.text != text) {
    item.manifests = parseManifests(text, file, Templates::ignore);
    item.text = std::move(text);
  }
  item.used = true;
  return item.manifests;
}

void FolderCache::keepOnlyUsed() {
  std::erase_if(items_, [](const auto& item) { return !item.second.used; });
  for (auto& [file, item] : items_) item.used = false;
}

Result<Manifests> readFolder(const std::string& directory, FolderCache* cache) {
  FolderCache once;
  FolderCache& parsed = cache == nullptr ? once : *cache;
  const auto files = listFolder(directory, {".yaml", ".yml", ".json"});
  if (!files) return tl::unexpected<Error>(files.error());
  Manifests out;
  for (const std::string& file : *files) {
    const auto text = readFile(file, kLargestFile);
    if (!text) {
      if (text.error().code == Code::gone && !stillThere(file)) continue;
      Error error = text.error();
      error.path.clear();  // the finding names it
      out.findings.push_back(invalid(file, {}, error.text(), ""));
      continue;
    }
    const Manifests& one = parsed.parsed(file, *text);
    out.pods.insert(out.pods.end(), one.pods.begin(), one.pods.end());
    out.findings.insert(out.findings.end(), one.findings.begin(), one.findings.end());
  }
  parsed.keepOnlyUsed();
  dropDuplicates(out);
  return out;
}

}  // namespace memqos::config
