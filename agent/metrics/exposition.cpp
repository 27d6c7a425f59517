#include "metrics/exposition.h"

#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "base/version.h"
#include "metrics/families.h"
#include "metrics/process.h"
#include "metrics/series.h"

namespace memqos::metrics {
namespace {

// From a write of one file to a memory.high that is lowered for 30 s.
const prometheus::Histogram::BucketBoundaries kApplyBuckets = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30};
// Around the 10 ms that a write should stay under.
const prometheus::Histogram::BucketBoundaries kReclaimBuckets = {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                                 0.02,   0.05,   0.1,   0.5,    1};
const prometheus::Histogram::BucketBoundaries kLagBuckets = {0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};

prometheus::Family<prometheus::Histogram>& histogram(prometheus::Registry& registry, Family family) {
  return prometheus::BuildHistogram()
      .Name(std::string(info(family).name))
      .Help(std::string(info(family).help))
      .Register(registry);
}

}  // namespace

struct Exposition::Histograms {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Histogram>& apply = histogram(registry, Family::applySeconds);
  prometheus::Histogram& reclaim = histogram(registry, Family::reclaimSeconds).Add({}, kReclaimBuckets);
  prometheus::Histogram& loopLag = histogram(registry, Family::loopLagSeconds).Add({}, kLagBuckets);
};

Exposition::Exposition(Options options) : options_(std::move(options)), histograms_(std::make_unique<Histograms>()) {}
Exposition::~Exposition() = default;

void Exposition::observeApply(std::string_view trigger, std::chrono::duration<double> seconds) {
  const std::string label(info(Family::applySeconds).labels[0]);
  histograms_->apply.Add({{label, validUtf8(trigger)}}, kApplyBuckets).Observe(seconds.count());
}

void Exposition::observeReclaim(std::chrono::duration<double> seconds) {
  histograms_->reclaim.Observe(seconds.count());
}

void Exposition::observeLoopLag(std::chrono::duration<double> seconds) {
  histograms_->loopLag.Observe(seconds.count());
}

std::string Exposition::text(const std::shared_ptr<const report::Snapshot>& snapshot) {
  // An exception must not travel through the HTTP library's C frames.
  const auto guarded = [this](const auto& part) {
    try {
      part();
    } catch (const std::exception&) {
      ++failedParts_;
    }
  };
  SeriesBuilder builder;
  builder.add(Family::buildInfo, {version()}, 1);
  guarded([&] {
    if (snapshot) cutSeries_ += addContainers(builder, *snapshot, options_.maxSeries);
  });
  guarded([&] {
    if (snapshot) addAgent(builder, *snapshot);
  });
  guarded([&] {
    if (const auto facts = readProcess(options_.procRoot)) {
      addProcess(builder, *facts);
    } else {
      ++failedParts_;
    }
  });
  std::string page;
  guarded([&] {
    auto own = histograms_->registry.Collect();
    auto dropped = snapshot ? snapshot->dropped : std::map<std::string, std::uint64_t>();
    dropped["series"] += cutSeries_;
    dropped["collect"] += failedParts_;
    addDropped(builder, dropped);
    std::vector<prometheus::MetricFamily> families = std::move(builder).take();
    std::move(own.begin(), own.end(), std::back_inserter(families));
    page = prometheus::TextSerializer().Serialize(families);
  });
  return page;
}

}  // namespace memqos::metrics
