#include "metrics/series.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/utf8.h"

namespace memqos::metrics {
namespace {

using report::ContainerState;
using report::PodState;

struct Sample {
  Family family;
  std::string_view label;  // the family's own one, "" where it has none
  double value;
  std::string_view second{};  // its second one
};

double number(Limit limit) {
  return limit.isMax() ? std::numeric_limits<double>::infinity() : static_cast<double>(limit.bytes().count);
}

void addFile(std::vector<Sample>& samples, cgroup::File file, const report::FileState& state) {
  const bool flag = cgroup::isFlag(file);
  const char* label = cgroup::name(file);
  if (state.wanted) {
    samples.push_back({flag ? Family::controlWantedEnabled : Family::controlWantedBytes, label, number(*state.wanted)});
  }
  if (state.current) {
    samples.push_back(
        {flag ? Family::controlAppliedEnabled : Family::controlAppliedBytes, label, number(*state.current)});
  }
  const bool protection = file == cgroup::File::memoryMin || file == cgroup::File::memoryLow;
  if (protection && state.effective) {
    samples.push_back({Family::protectionEffectiveBytes, label, number(*state.effective)});
  }
}

void addReclaim(std::vector<Sample>& samples, const report::ReclaimState& state) {
  if (state.state.empty()) return;
  const auto bytes = [](Bytes value) { return static_cast<double>(value.count); };
  samples.push_back({Family::reclaimRequestedBytes, "", bytes(state.requested)});
  samples.push_back({Family::reclaimReclaimedBytes, "", bytes(state.reclaimed)});
  for (const auto& [labels, count] : state.writes)
    samples.push_back({Family::reclaimWrites, labels.first, static_cast<double>(count), labels.second});
  if (state.refaulted) samples.push_back({Family::refaultBytes, "", bytes(*state.refaulted)});
  for (const auto& [mark, value] : state.marks) samples.push_back({Family::usageWatermarkBytes, mark, bytes(value)});
  if (state.cacheMapped) samples.push_back({Family::pageCacheBytes, "true", bytes(*state.cacheMapped)});
  if (state.cacheUnmapped) samples.push_back({Family::pageCacheBytes, "false", bytes(*state.cacheUnmapped)});
  if (state.cacheLimit) samples.push_back({Family::pageCacheLimitBytes, "", bytes(*state.cacheLimit)});
}

std::vector<Sample> samplesOf(const ContainerState& container) {
  std::vector<Sample> samples;
  for (const cgroup::File file : cgroup::kFiles) addFile(samples, file, container.at(file));
  if (container.usage) samples.push_back({Family::usageBytes, "", static_cast<double>(container.usage->count)});
  for (const auto& [event, count] : container.events) {
    samples.push_back({Family::memoryEvents, event, static_cast<double>(count)});
  }
  if (container.pressureSome) {
    samples.push_back(
        {Family::pressureSomeSeconds, "", std::chrono::duration<double>(*container.pressureSome).count()});
  }
  // A counter must be there before it first counts; only containers that memqos throttles can escape.
  if (container.throttleEscapes > 0 || container.at(cgroup::File::memoryHigh).wanted) {
    samples.push_back({Family::throttleEscapes, "", static_cast<double>(container.throttleEscapes)});
  }
  if (container.lowValveOpen) samples.push_back({Family::lowValveOpen, "", *container.lowValveOpen ? 1.0 : 0.0});
  if (container.reclaim) addReclaim(samples, *container.reclaim);
  return samples;
}

struct Entry {
  std::array<std::string, 3> names;  // namespace, pod, container
  const ContainerState* container;
};

std::vector<Entry> entriesByName(const report::Snapshot& snapshot) {
  std::vector<Entry> entries;
  for (const PodState& pod : snapshot.pods) {
    for (const ContainerState& container : pod.containers) {
      entries.push_back(
          {{validUtf8(pod.plan.nameSpace), validUtf8(pod.plan.name), validUtf8(container.name)}, &container});
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.names != b.names) return a.names < b.names;
    return a.container->usage.has_value() && !b.container->usage;
  });
  return entries;
}

prometheus::MetricType typeOf(Type type) {
  switch (type) {
    case Type::counter:
      return prometheus::MetricType::Counter;
    case Type::gauge:
      return prometheus::MetricType::Gauge;
    case Type::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

void SeriesBuilder::add(Family family, std::vector<std::string_view> labelValues, double value) {
  const FamilyInfo& row = info(family);
  std::vector<std::string_view> names;
  if (row.perContainer) names.assign(containerLabels().begin(), containerLabels().end());
  for (const std::string_view label : row.labels) {
    if (!label.empty()) names.push_back(label);
  }
  prometheus::ClientMetric metric;
  for (std::size_t i = 0; i < std::min(names.size(), labelValues.size()); ++i) {
    metric.label.push_back({std::string(names[i]), validUtf8(labelValues[i])});
  }
  if (row.type == Type::counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  samples_[static_cast<std::size_t>(family)].push_back(std::move(metric));
}

std::vector<prometheus::MetricFamily> SeriesBuilder::take() && {
  std::vector<prometheus::MetricFamily> out;
  for (const FamilyInfo& row : families()) {
    auto& samples = samples_[static_cast<std::size_t>(row.family)];
    if (samples.empty()) continue;
    out.push_back({std::string(row.name), std::string(row.help), typeOf(row.type), std::move(samples)});
  }
  return out;
}

std::size_t addContainers(SeriesBuilder& builder, const report::Snapshot& snapshot, std::size_t maxSeries) {
  const std::vector<Entry> entries = entriesByName(snapshot);
  std::size_t used = 0;
  std::size_t cut = 0;
  const Entry* last = nullptr;
  for (const Entry& entry : entries) {
    const std::vector<Sample> samples = samplesOf(*entry.container);
    const bool duplicate = last != nullptr && last->names == entry.names;
    last = &entry;
    if (duplicate || used + samples.size() > maxSeries) {
      cut += samples.size();
      continue;
    }
    used += samples.size();
    const auto& [nameSpace, pod, container] = entry.names;
    for (const Sample& sample : samples) {
      builder.add(sample.family, {nameSpace, pod, container, sample.label, sample.second}, sample.value);
    }
  }
  return cut;
}

void addAgent(SeriesBuilder& builder, const report::Snapshot& snapshot) {
  const auto each = [&](Family family, const std::map<std::string, std::uint64_t>& counts) {
    for (const auto& [label, count] : counts) builder.add(family, {label}, static_cast<double>(count));
  };
  each(Family::pods, snapshot.podsByState);
  each(Family::containers, snapshot.containersByState);
  each(Family::drift, snapshot.drift);
  each(Family::annotationErrors, snapshot.annotationErrors);
  for (const auto& [labels, count] : snapshot.controlWrites) {
    builder.add(Family::controlWrites, {labels.first, labels.second}, static_cast<double>(count));
  }
  for (const auto& [labels, count] : snapshot.apiRequests) {
    builder.add(Family::apiRequests, {labels[0], labels[1], labels[2]}, static_cast<double>(count));
  }
  each(Family::watchRestarts, snapshot.watchRestarts);
  for (const auto& feature : snapshot.features) {
    if (feature.known) builder.add(Family::kernelFeature, {feature.name}, feature.available ? 1 : 0);
  }
}

void addDropped(SeriesBuilder& builder, const std::map<std::string, std::uint64_t>& dropped) {
  for (const auto& [what, count] : dropped) builder.add(Family::dropped, {what}, static_cast<double>(count));
}

void addProcess(SeriesBuilder& builder, const ProcessFacts& facts) {
  builder.add(Family::processCpuSeconds, {}, facts.stat.cpuSeconds);
  builder.add(Family::processOpenFds, {}, static_cast<double>(facts.openFds));
  builder.add(Family::processMaxFds, {}, static_cast<double>(facts.maxFds));
  builder.add(Family::processVirtualMemoryBytes, {}, static_cast<double>(facts.stat.virtualMemory.count));
  builder.add(Family::processResidentMemoryBytes, {}, static_cast<double>(facts.stat.residentMemory.count));
  builder.add(Family::processStartTimeSeconds, {}, facts.startTime);
  builder.add(Family::processThreads, {}, static_cast<double>(facts.stat.threads));
}

}  // namespace memqos::metrics
