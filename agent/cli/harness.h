// For tests of this room: the program with captured streams, a folder of its own, and a world that a test fills.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands.h"
#include "document/node.h"

namespace memqos::cli {

struct Ran {
  int status = -1;
  std::string out, err;
  // Of JSON output.
  [[nodiscard]] document::Node json() const {
    auto parsed = document::parseJson(out);
    EXPECT_TRUE(parsed) << out;
    return parsed ? *parsed : document::Node::null();
  }
};

class Program : public testing::Test {
 protected:
  Program() {
    std::string name = testing::TempDir() + "cli-XXXXXX";
    folder_ = mkdtemp(name.data());
    world_.request = [](const std::string& path, const std::string&, const std::string&) -> Result<Reply> {
      return failErrno(ENOENT, "cannot connect", path);
    };
    world_.probe = []() -> Result<report::Probe> { return fail(Code::unsupported, "no cgroup hierarchy is mounted"); };
    world_.restoreOffline = [](const std::string&) -> Result<std::vector<report::RestoredFile>> {
      return fail(Code::again, "an agent holds the lock");
    };
    world_.run = [](const RunFlags&) { return 0; };
    world_.pause = [] { return false; };
  }
  ~Program() override { std::filesystem::remove_all(folder_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  // An empty configuration, so that what the machine has in /etc does not matter.
  std::string noConfig() {
    std::filesystem::create_directories(folder_ + "/config");
    return folder_ + "/config";
  }
  Ran run(const std::vector<std::string>& arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Context context{.streams = {in, out, err, terminal_}, .world = world_};
    Ran ran;
    ran.status = main(arguments, context);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
  }

  std::string folder_;
  World world_;
  bool terminal_ = false;
};

}  // namespace memqos::cli
