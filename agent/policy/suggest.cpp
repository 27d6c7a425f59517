#include "policy/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace memqos::policy {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

// Optimal string alignment: insert, delete, replace, and swap of two neighbours cost 1 each.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    beforeLast.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::optional<std::string> best;
  std::size_t bestDistance = 0;
  for (const std::string_view candidate : candidates) {
    if (word.size() > 2 * candidate.size() || candidate.size() > 2 * word.size()) continue;
    const std::size_t cost = distance(lowered(word), lowered(candidate));
    if (cost * 3 > std::max(word.size(), candidate.size())) continue;
    if (!best || cost < bestDistance) {
      best = candidate;
      bestDistance = cost;
    }
  }
  return best;
}

std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return "";
  if (const auto near = nearest(word, candidates)) return fmt::format("did you mean {}?", *near);
  return fmt::format("use one of {}", fmt::join(candidates, ", "));
}

}  // namespace memqos::policy
