// What a subcommand gets from outside: streams, and the world as functions that a test replaces.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "document/node.h"
#include "report/probe.h"
#include "report/restore.h"

namespace memqos::cli {

struct RunFlags;

// Exit statuses; scripts rely on them.
inline constexpr int kOk = 0;
inline constexpr int kUserError = 1;  // what the user did: flags, manifests with errors, unknown pods, unreadable files
inline constexpr int kNodeLacks = 2;  // what the node lacks: no cgroup v2, no running agent, a failed kernel write

enum class Output { table, json, yaml };

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // `out` is one
};

// An answer of a running agent.
struct Reply {
  int status = 0;  // HTTP's
  std::string body;
};

struct World {
  // One request over the socket at `path`. Errors: gone or io where nobody listens, denied, timeout.
  std::function<Result<Reply>(const std::string& path, const std::string& method, const std::string& target)> request;
  // What this node can do. Errors: unsupported (no cgroup hierarchy), denied.
  std::function<Result<report::Probe>()> probe;
  // Takes the lock of `runDir` and restores what its journal says. Errors: again (an agent holds the lock), denied, io.
  std::function<Result<std::vector<report::RestoredFile>>(const std::string& runDir)> restoreOffline;
  // The daemon; returns its exit status.
  std::function<int(const RunFlags& flags)> run;
  // Waits for the next refresh; false: stop.
  std::function<bool()> pause;
};
World realWorld();

struct Context {
  Streams streams;
  World world;
};

// "memqos-agent: SENTENCE" on stderr; returns `status`.
int complain(Context& context, int status, std::string_view sentence);
// `body` as JSON or YAML, or `text` for people. Returns `status`, or kUserError if stdout cannot be written.
int print(Context& context, Output output, const document::Node& body, const std::function<std::string()>& text,
          int status = kOk);

}  // namespace memqos::cli
