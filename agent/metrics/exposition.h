// The page that /metrics serves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "report/snapshot.h"

namespace memqos::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

// Holds the histograms that the agent feeds itself; everything else is rendered from the snapshot that text() gets, so
// that nothing has to be removed when a pod goes. Every function may be called from any thread.
class Exposition {
 public:
  struct Options {
    std::size_t maxSeries = 20000;  // of all containers together; more is cut and counted
    std::string procRoot = "/proc";
  };
  Exposition() : Exposition(Options{}) {}
  explicit Exposition(Options options);
  ~Exposition();
  Exposition(const Exposition&) = delete;
  Exposition& operator=(const Exposition&) = delete;

  // From what made a change necessary to its last kernel write. `trigger` is one of a few words of our own.
  void observeApply(std::string_view trigger, std::chrono::duration<double> seconds);
  void observeReclaim(std::chrono::duration<double> seconds);  // one write
  void observeLoopLag(std::chrono::duration<double> seconds);

  // The whole page in Prometheus' text format 0.0.4. Without a snapshot only the agent's own metrics. Never throws: a
  // part that fails is left out and counted.
  [[nodiscard]] std::string text(const std::shared_ptr<const report::Snapshot>& snapshot);

 private:
  struct Histograms;
  Options options_;
  std::unique_ptr<Histograms> histograms_;
  std::atomic<std::uint64_t> cutSeries_{0};
  std::atomic<std::uint64_t> failedParts_{0};
};

}  // namespace memqos::metrics
