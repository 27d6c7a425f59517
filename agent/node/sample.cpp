#include "node/sample.h"

#include <fcntl.h>

#include <set>
#include <utility>

namespace memqos::node {
namespace {

using cgroup::readRecord;

Fd opened(const cgroup::Cgroup& cgroup, const char* file) {
  auto fd = cgroup.open(file, O_RDONLY | O_NONBLOCK);
  return fd ? std::move(*fd) : Fd();
}

}  // namespace

std::optional<Bytes> usageOf(const Fd& file) {
  const auto text = readRecord(file.get(), "memory.current");
  if (!text) return std::nullopt;
  const auto limit = parseLimit(*text);
  return limit ? std::optional(limit->bytes()) : std::nullopt;
}

Sampler::Files Sampler::open(const cgroup::Cgroup& cgroup) {
  Files out;
  out.usage = opened(cgroup, "memory.current");
  if (!out.usage) out.usage = opened(cgroup, "memory.usage_in_bytes");  // v1
  out.events = opened(cgroup, "memory.events");
  out.pressure = opened(cgroup, "memory.pressure");
  return out;
}

Sample Sampler::one(const cgroup::Cgroup& cgroup) {
  Sample out;
  out.id = cgroup.id();
  Files& files = files_[cgroup.id()];
  if (!files.usage) files = open(cgroup);
  if (files.usage) out.usage = usageOf(files.usage);
  // Of a cgroup that was removed a held file reads as ENODEV.
  out.gone = !out.usage && !cgroup.alive();
  if (out.gone) return out;
  const auto read = [](const Fd& file, const char* name) {
    return file ? readRecord(file.get(), name) : fail(Code::gone, "not there", name);
  };
  if (const auto text = read(files.events, "memory.events")) {
    if (auto events = cgroup::parseFlatKeyed(*text)) {
      out.events = cgroup::memoryEvents(*events);
      out.eventCounters = std::move(events->values);
    }
  }
  if (const auto text = read(files.pressure, "memory.pressure")) {
    if (const auto pressure = cgroup::parsePressure(*text)) out.pressure = *pressure;
  }
  return out;
}

std::vector<Sample> Sampler::take(const std::vector<cgroup::Handle>& cgroups) {
  std::vector<Sample> out;
  out.reserve(cgroups.size());
  std::set<cgroup::Id> there;
  for (const cgroup::Handle& cgroup : cgroups) {
    out.push_back(one(*cgroup));
    if (!out.back().gone) there.insert(cgroup->id());
  }
  std::erase_if(files_, [&](const auto& item) { return !there.contains(item.first); });
  return out;
}

}  // namespace memqos::node
