#include "report/events.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "report/check.h"

namespace memqos::report {

namespace {

std::string placeOf(const policy::Source& source) {
  if (source.file.empty()) return {};
  if (source.position.line == 0) return source.file;
  return fmt::format("{}:{}:{}", source.file, source.position.line, source.position.column);
}

}  // namespace

Event toEvent(const policy::Finding& finding) {
  return {.reason = std::string(policy::name(finding.reason)),
          .severity = policy::severityOf(finding.reason),
          .nameSpace = finding.nameSpace,
          .pod = finding.pod,
          .uid = finding.uid,
          .container = finding.container,
          .message = sentence(finding),
          .at = placeOf(finding.source)};
}

void writeLog(const Event& event) {
  const auto level = event.severity == policy::Severity::error ? log::Level::error : log::Level::warning;
  log::write(level, event.message,
             {{"reason", event.reason},
              {"namespace", event.nameSpace},
              {"pod", event.pod},
              {"uid", event.uid},
              {"container", event.container},
              {"at", event.at}});
}

std::vector<Event> EventFilter::update(const std::string& subject, std::span<const policy::Finding> findings,
                                       Time now) {
  // A pod without findings costs nothing here, unless its bucket still has to be remembered.
  if (findings.empty() && !subjects_.contains(subject)) return {};
  auto [entry, isNew] = subjects_.try_emplace(subject, Subject{{}, rate_.burst, now});
  Subject& state = entry->second;
  const std::chrono::duration<double> passed = std::max(now - state.refilled, Time::duration::zero());
  state.tokens = std::min(rate_.burst, state.tokens + passed / std::chrono::duration<double>(rate_.refill));
  state.refilled = now;

  std::vector<Event> events;
  std::vector<policy::Finding> told;
  for (const auto& finding : findings) {
    if (std::find(told.begin(), told.end(), finding) != told.end()) continue;
    if (std::find(state.told.begin(), state.told.end(), finding) == state.told.end()) {
      if (state.tokens < 1) {
        ++held_;
        continue;
      }
      state.tokens -= 1;
      events.push_back(toEvent(finding));
    }
    told.push_back(finding);
  }
  state.told = std::move(told);
  return events;
}

}  // namespace memqos::report
