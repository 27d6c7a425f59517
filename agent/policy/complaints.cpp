#include "policy/complaints.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

constexpr std::size_t kMostFindings = 64;
constexpr std::size_t kMostCandidates = 64;

}  // namespace

Finding findingOf(const Pod& pod, Reason reason, std::string key, std::string_view value, BadText text) {
  Finding out;
  out.reason = reason;
  out.nameSpace = pod.nameSpace;
  out.pod = pod.name;
  out.uid = pod.uid;
  out.key = std::move(key);
  out.value = kept(value);
  out.problem = std::move(text.problem);
  out.advice = std::move(text.advice);
  out.source = pod.source;
  return out;
}

bool Complaints::mayAdd() {
  if (reported_ == kMostFindings) return ++dropped_ == 1;
  ++reported_;
  return true;
}

void Complaints::add(const Annotation& annotation, std::string_view container, BadText text, Reason reason) {
  findings_.push_back(findingOf(pod_, reason, kept(annotation.key), annotation.value, std::move(text)));
  findings_.back().container = container;
  findings_.back().source = sourceOf(pod_, annotation);
}

void Complaints::close() {
  if (dropped_ <= 1) return;
  findings_.back().problem = fmt::format("this and {} more annotations cannot be used", dropped_ - 1);
  findings_.back().advice = "correct those that are listed first";
}

Source sourceOf(const Pod& pod, const Annotation& annotation) {
  Source source = pod.source;
  source.position = annotation.position;
  return source;
}

BadText noSuchContainer(const std::set<std::string_view>& names, std::string_view container) {
  std::vector<std::string_view> candidates;
  for (const std::string_view name : names) {
    if (candidates.size() < kMostCandidates) candidates.push_back(name);
  }
  const std::string advice = names.empty() ? "remove it" : didYouMean(cut(container, kMostCandidates), candidates);
  return {fmt::format("the pod has no container {}", inQuotes(container)), log::escapeJson(cut(advice, 512))};
}

}  // namespace memqos::policy
