// The subcommands, each in its own file. They return the exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace memqos::cli {

inline constexpr const char* kDefaultRunDir = "/run/memqos";
inline constexpr const char* kDefaultConfigDir = "/etc/memqos";

struct RunFlags {
  std::string pods, kubeconfig, nodeName;
  std::optional<std::string> listen;
  std::string runDir = kDefaultRunDir;
  std::optional<std::string> config;
  std::string logFormat = "text", logLevel = "info";
};
int run(const RunFlags& flags, Context& context);

struct ProbeFlags {
  Output output = Output::table;
};
int probe(const ProbeFlags& flags, Context& context);

struct CheckFlags {
  std::vector<std::string> files;
  std::optional<std::string> config;       // nullopt: the default folder, which may be missing
  std::optional<std::string> allocatable;  // nullopt: not known
  Output output = Output::table;
};
int check(const CheckFlags& flags, Context& context);

struct ExplainFlags {
  std::string target;                              // POD or FILE
  std::optional<std::string> config, allocatable;  // of a FILE
  std::string runDir = kDefaultRunDir;
  bool all = false;
  Output output = Output::table;
};
int explain(const ExplainFlags& flags, Context& context);

struct TopFlags {
  std::string runDir = kDefaultRunDir;
  bool once = false;
  Output output = Output::table;
};
int top(const TopFlags& flags, Context& context);

struct MoveFlags {
  Output output = Output::table;
};
int move(const MoveFlags& flags, Context& context);

struct RestoreFlags {
  std::string runDir = kDefaultRunDir;
  Output output = Output::table;
};
int restore(const RestoreFlags& flags, Context& context);

}  // namespace memqos::cli
