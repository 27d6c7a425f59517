// Facts -> metric families of prometheus-cpp. For this room only: it shows the library's types.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/families.h"
#include "metrics/process.h"
#include "report/snapshot.h"

namespace memqos::metrics {

// Collects samples by family, in the table's order; families without samples do not appear.
class SeriesBuilder {
 public:
  // Label values in the order of the table (containerLabels() first where they apply); made valid UTF-8 here.
  void add(Family family, std::vector<std::string_view> labelValues, double value);
  [[nodiscard]] std::vector<prometheus::MetricFamily> take() &&;

 private:
  std::array<std::vector<prometheus::ClientMetric>, kFamilyCount> samples_;
};

// The series of every container, at most `maxSeries`: a container whose series do not all fit has none, and later ones
// may still fit. In the order of names, so that the same ones stay from scrape to scrape. Of two containers with the
// same names (a pod and its successor) only one is kept, that with a usage before that without. Returns how many were
// cut.
std::size_t addContainers(SeriesBuilder& builder, const report::Snapshot& snapshot, std::size_t maxSeries);
// The agent's counts in the snapshot, all but `dropped`.
void addAgent(SeriesBuilder& builder, const report::Snapshot& snapshot);
void addDropped(SeriesBuilder& builder, const std::map<std::string, std::uint64_t>& dropped);
void addProcess(SeriesBuilder& builder, const ProcessFacts& facts);

}  // namespace memqos::metrics
