// Annotation keys: `memqos.io/WORD` for the whole pod, `WORD.memqos.io/CONTAINER` for one container.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memqos::policy {

inline constexpr std::string_view kDomain = "memqos.io";
inline constexpr std::string_view kManaged = "managed";
inline constexpr std::string_view kManagedKey = "memqos.io/managed";
inline constexpr std::string_view kCgroup = "cgroup";

struct Key {
  enum class Kind {
    foreign,    // somebody else's
    pod,        // memqos.io/WORD
    container,  // WORD.memqos.io/CONTAINER
    stray,      // somebody else's, but surely meant for us: `memqos/memory-min`, `memory-min.memqo.io/app`
  };
  Kind kind = Kind::foreign;
  std::string_view word;       // of pod and container: a knob, `managed`, `cgroup`, or a mistake
  std::string_view container;  // of container
  std::string advice;          // of stray: the key that was meant
};
// Views into `key`. Keys of any length and content.
Key parseKey(std::string_view key);

std::string podKey(std::string_view word);
std::string containerKey(std::string_view word, std::string_view container);

// Everything that may stand as WORD.
std::vector<std::string_view> words();
// The WORD that was meant; nullopt: no idea.
std::optional<std::string> suggestWord(std::string_view word);

}  // namespace memqos::policy
