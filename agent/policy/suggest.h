// "Did you mean": the nearest of the names that would have been right.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace memqos::policy {

// The candidate with the smallest Damerau-Levenshtein distance (optimal string alignment, case ignored) to `word`,
// the first of equals; nullopt if none is near: more than a third of the longer word would have to change.
// `word` may be long and hostile: the work is bounded by the candidates' lengths.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates);

// The sentence for an advice: "did you mean NAME?" where one is near, else "use one of A, B, C"; empty without
// candidates.
std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace memqos::policy
