// The rows of `restore`: which files were put back to what they were before memqos.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "document/node.h"

namespace memqos::report {

inline constexpr std::string_view kRestored = "restored";    // the file has its baseline again
inline constexpr std::string_view kUnchanged = "unchanged";  // it had it already
inline constexpr std::string_view kGone = "gone";            // the cgroup is no longer there
inline constexpr std::string_view kForeign = "foreign";      // somebody else's value stands there now and is kept

struct RestoredFile {
  std::string file;           // path below the cgroup mount, ending in the control file
  std::optional<Limit> from;  // what it had; nullopt: could not be read
  std::optional<Limit> to;    // the baseline; nullopt: not known
  std::string result;         // one of the words above; anything else is a sentence that says why it failed
};
bool failed(const RestoredFile& file);

// {"files": [{"file", "from", "to", "result"}]}; flags as booleans, the others bytes or "max".
document::Node restoreBody(std::span<const RestoredFile> files);
// The same from rows of a body; a row without a known word failed.
std::size_t countFailed(const document::Node& body);
std::string restoreText(const document::Node& body);

}  // namespace memqos::report
