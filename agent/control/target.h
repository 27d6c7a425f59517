// What the kernel should hold: the merge of the Plan and the holds above it, one target per file.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cgroup/cgroup.h"
#include "cgroup/files.h"

namespace memqos::control {

// A control file is known by its cgroup's id, never by a path that can be reused.
struct Key {
  cgroup::Id id = 0;
  cgroup::File file = cgroup::File::memoryMin;
  auto operator<=>(const Key&) const = default;
};

// ancestor: above the pods (QoS slice, kubepods, ...), where the kubelet's rewrites are expected.
enum class Role { container, podSlice, ancestor };

struct Target {
  cgroup::Handle cgroup;
  cgroup::File file = cgroup::File::memoryMin;
  Limit value;
  Role role = Role::container;
  // A value that must not stay when nobody watches (a low held as memory.min): the watchdog puts `plain` back, or the
  // baseline where nothing else is wanted.
  bool held = false;
  std::optional<Limit> plain{};
  [[nodiscard]] Key key() const { return {cgroup->id(), file}; }
};

}  // namespace memqos::control
