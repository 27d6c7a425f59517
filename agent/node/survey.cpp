#include "node/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cgroup/layout.h"

namespace memqos::node {
namespace {

using cgroup::File;

std::optional<Limit> readMax(const cgroup::Cgroup& cgroup) {
  const auto value = cgroup.readLimit("memory.max");
  if (value) return *value;
  const auto old = cgroup.readLimit("memory.limit_in_bytes");  // v1
  if (!old) return std::nullopt;
  // PAGE_COUNTER_MAX, in bytes, is v1's "max" (include/linux/page_counter.h).
  constexpr Limit kUnlimited{Bytes{std::int64_t{1} << 62}};
  return *old >= kUnlimited ? Limit::max() : *old;
}

class Surveyor {
 public:
  Surveyor(const SurveyRequest& request, const cgroup::Root& root, control::Writer& writer, SurveyCache& cache)
      : request_(request), root_(root), writer_(writer), cache_(cache) {}

  Survey take() {
    for (const SurveyRequest::Pod& pod : request_.pods) surveyPod(pod);
    for (auto& [path, ancestor] : out_.ancestors) fill(path, ancestor);
    for (const std::string& path : waitingAt_) {
      if (auto handle = cache_.get(root_, path)) out_.waitingAt.push_back(std::move(*handle));
    }
    return std::move(out_);
  }

 private:
  void surveyPod(const SurveyRequest::Pod& request) {
    SurveyCache::Pod& cached = cache_.pods[request.uid];
    if (cache_.reusable(request_, request) == nullptr) cached = look(request);
    for (const auto& [name, handle] : cached.found.containers) keep(handle);
    keep(cached.found.cgroup);
    for (const std::string& path : cached.watchFor) waitingAt_.insert(path);
    out_.pods[request.uid] = cached.found;
    noteAncestors(cached.found);
  }

  // A handle that is still in use must not leave the cache.
  void keep(const cgroup::Handle& handle) {
    if (handle) cache_.use(handle->path());
  }

  SurveyCache::Pod lookInCluster(const SurveyRequest::Pod& request) {
    if (!tree_) tree_.emplace(root_, request_.cgroupRoot, *request_.cluster, cache_.bundles);
    const ClusterPlace place = tree_->find(*request.inCluster);
    SurveyCache::Pod out{request.keys, {}, {}, {}, request_.cluster->pods[*request.inCluster]};
    if (!place.pod.empty()) {
      if (auto handle = cache_.get(root_, place.pod)) out.found.cgroup = std::move(*handle);
    }
    for (const auto& [name, path] : place.containers) {
      if (auto handle = cache_.get(root_, path)) out.found.containers[name] = std::move(*handle);
    }
    out.found.inKubepods = true;
    // Containers come and go in the pod's cgroup, and the pod's own in one of those above.
    for (const std::string& path : place.folders) {
      watch(path, out);
      watchChildren(path, out);
    }
    for (const std::string& path : tree_->above()) {
      if (place.folders.empty()) watchChildren(path, out);
      out.watchFor.push_back(path);
    }
    readFacts(out.found);
    return out;
  }

  void watchChildren(const std::string& path, SurveyCache::Pod& out) {
    const auto handle = cache_.get(root_, path);
    if (!handle) return;
    out.watchFor.push_back(path);
    out.sensitive.emplace_back((*handle)->id(), "");
  }

  SurveyCache::Pod look(const SurveyRequest::Pod& request) {
    if (request_.cluster && request.inCluster) return lookInCluster(request);
    const cgroup::Resolved resolved = cgroup::resolve(root_, request_.cgroupRoot, request.keys);
    SurveyCache::Pod out{request.keys, {}, {}, {}, {}};
    SurveyedPod& pod = out.found;
    pod.problems = resolved.problems;
    for (const auto& [name, path] : resolved.containers) {
      if (auto handle = cache_.get(root_, path)) pod.containers[name] = std::move(*handle);
      watch(path, out);
      // A single container moves from its pod's cgroup into a child of its name, once there is one.
      if (path == resolved.pod) watch(fmt::format("{}/{}", path, name), out);
    }
    for (const auto& [name, path] : resolved.waiting) watch(path, out);
    if (!resolved.pod.empty()) watch(resolved.pod, out);
    if (resolved.podSlice && !resolved.pod.empty()) {
      if (auto handle = cache_.get(root_, resolved.pod)) pod.cgroup = std::move(*handle);
    }
    pod.inKubepods = cgroup::kubepodsOf(anyPath(resolved)).has_value();
    readFacts(pod);
    return out;
  }

  // A cgroup reports neither its coming nor its end: the nearest one above that exists does, by the next name on the
  // way.
  void watch(const std::string& path, SurveyCache::Pod& out) {
    std::string above = cgroup::nearestExisting(root_, path);
    if (above == path) above = cgroup::parentOf(path);
    auto handle = cache_.get(root_, above);
    if (!handle) return;
    const std::string rest = path.substr(above.empty() ? 0 : above.size() + 1);
    out.watchFor.push_back(above);
    out.sensitive.emplace_back((*handle)->id(), rest.substr(0, rest.find('/')));
  }

  static std::string anyPath(const cgroup::Resolved& resolved) {
    if (!resolved.pod.empty()) return resolved.pod;
    if (!resolved.containers.empty()) return resolved.containers.begin()->second;
    return resolved.waiting.empty() ? std::string() : resolved.waiting.begin()->second;
  }

  void readFacts(SurveyedPod& pod) {
    if (pod.cgroup) pod.facts.podLimit = readMax(*pod.cgroup);
    for (const auto& [name, handle] : pod.containers) {
      policy::ContainerFacts& facts = pod.facts.containers[name];
      facts.limit = readMax(*handle);
      if (facts.limit && pod.facts.podLimit) facts.limit = std::min(*facts.limit, *pod.facts.podLimit);
      facts.foundHigh = writer_.baselineOf(*handle, File::memoryHigh);
      facts.foundMin = writer_.baselineOf(*handle, File::memoryMin);
      facts.foundLow = writer_.baselineOf(*handle, File::memoryLow);
      facts.foundSwapMax = writer_.baselineOf(*handle, File::swapMax);
      facts.foundZswapMax = writer_.baselineOf(*handle, File::zswapMax);
    }
  }

  // Everything between what is held for the pod and the root of what may be touched.
  void noteAncestors(const SurveyedPod& pod) {
    std::set<std::string> below;
    if (pod.cgroup) below.insert(pod.cgroup->path());
    if (!pod.cgroup) {
      for (const auto& [name, handle] : pod.containers) below.insert(handle->path());
    }
    for (const std::string& path : below) {
      onTheWay_.insert(path);
      for (const std::string& ancestor : cgroup::ancestorsOf(path)) {
        if (ancestor == request_.cgroupRoot) break;
        onTheWay_.insert(ancestor);
        SurveyedAncestor& entry = out_.ancestors[ancestor];
        entry.inKubepods = entry.inKubepods || pod.inKubepods;
      }
    }
  }

  control::Protection baselineOf(const cgroup::Cgroup& cgroup) const {
    const auto bytes = [&](File file) { return writer_.baselineOf(cgroup, file).value_or(Limit()).bytes(); };
    return {bytes(File::memoryMin), bytes(File::memoryLow)};
  }

  static control::Protection currentOf(const cgroup::Cgroup& cgroup) {
    const auto bytes = [&](File file) {
      const auto value = cgroup.readLimit(cgroup::name(file));
      return value ? value->bytes() : Bytes{};
    };
    return {bytes(File::memoryMin), bytes(File::memoryLow)};
  }

  void fill(const std::string& path, SurveyedAncestor& ancestor) {
    auto handle = cache_.get(root_, path);
    if (!handle) return;
    ancestor.cgroup = std::move(*handle);
    ancestor.current = currentOf(*ancestor.cgroup);
    ancestor.baseline = baselineOf(*ancestor.cgroup);
    // A pod that asks for nothing is not read: only above the root of the pods, and for the kubelet's own slices.
    const auto children = ancestor.cgroup->children();
    if (!children) return;
    for (const std::string& child : *children) {
      const std::string childPath = path.empty() ? child : fmt::format("{}/{}", path, child);
      if (onTheWay_.contains(childPath) || cgroup::parsePodPath(childPath)) continue;
      if (auto other = root_.find(childPath)) {
        const control::Protection held = baselineOf(**other);
        ancestor.outside = {ancestor.outside.min + held.min, ancestor.outside.low + held.low};
      }
    }
  }

  const SurveyRequest& request_;
  const cgroup::Root& root_;
  control::Writer& writer_;
  SurveyCache& cache_;
  Survey out_;
  std::optional<ClusterTree> tree_;  // looked at once it is needed
  std::set<std::string> onTheWay_;
  std::set<std::string> waitingAt_;
};

}  // namespace

Result<cgroup::Handle> SurveyCache::get(const cgroup::Root& root, const std::string& path) {
  const auto found = items_.find(path);
  if (found != items_.end() && found->second.handle->alive()) {
    found->second.used = true;
    return found->second.handle;
  }
  auto handle = root.find(path);
  if (!handle) {
    items_.erase(path);
    return handle;
  }
  items_[path] = {*handle, true};
  return handle;
}

void SurveyCache::use(const std::string& path) {
  if (const auto found = items_.find(path); found != items_.end()) found->second.used = true;
}

const SurveyCache::Pod* SurveyCache::reusable(const SurveyRequest& request, const SurveyRequest::Pod& pod) const {
  const auto found = pods.find(pod.uid);
  if (request.everything || found == pods.end() || found->second.keys != pod.keys) return nullptr;
  const Pod& known = found->second;
  if (pod.inCluster.has_value() != known.identity.has_value()) return nullptr;
  if (pod.inCluster && request.cluster->pods[*pod.inCluster] != *known.identity) return nullptr;
  const auto written = [&](const cgroup::Handle& handle) {
    return handle && (request.written.contains(handle->id()) || request.unwatched.contains(handle->id()));
  };
  if (written(known.found.cgroup)) return nullptr;
  for (const auto& [name, handle] : known.found.containers) {
    if (written(handle)) return nullptr;
  }
  for (const auto& child : known.sensitive) {
    if (request.unwatched.contains(child.first)) return nullptr;
    const auto first = request.children.lower_bound(child);
    if (first == request.children.end() || first->first != child.first) continue;
    if (child.second.empty() || first->second == child.second) return nullptr;
  }
  return &known;
}

void SurveyCache::keepOnlyUsed() {
  std::erase_if(items_, [](const auto& item) { return !item.second.used; });
  for (auto& [path, item] : items_) item.used = false;
}

Survey survey(const SurveyRequest& request, const cgroup::Root& root, control::Writer& writer, SurveyCache& cache) {
  Survey out = Surveyor(request, root, writer, cache).take();
  std::erase_if(out.ancestors, [](const auto& item) { return item.second.cgroup == nullptr; });
  cache.keepOnlyUsed();
  std::erase_if(cache.pods, [&](const auto& item) { return !out.pods.contains(item.first); });
  return out;
}

}  // namespace memqos::node
