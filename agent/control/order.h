// Pure: in which order files are written, so that a parent always covers its children.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace memqos::control {

// Widen top-down first, then tighten bottom-up. `T` has `path` and `widens` (the new value is greater than the
// current). Stable, so that files of one cgroup keep their order.
template <typename T, typename Path, typename Widens>
void orderForWriting(std::vector<T>& changes, Path path, Widens widens) {
  const auto depth = [&](const T& change) {
    const std::string_view text = path(change);
    return std::count(text.begin(), text.end(), '/') + (text.empty() ? 0 : 1);
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const T& a, const T& b) {
    const bool widenA = widens(a);
    const bool widenB = widens(b);
    if (widenA != widenB) return widenA;
    return widenA ? depth(a) < depth(b) : depth(a) > depth(b);
  });
}

}  // namespace memqos::control
