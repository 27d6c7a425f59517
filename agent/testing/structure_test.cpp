// The shape of the source tree, as rules that a machine can check: arrows between rooms, third-party headers in the one
// room that wraps them, files of a readable size.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace memqos {
namespace {

namespace fs = std::filesystem;

const fs::path kAgent = fs::path(MEMQOS_SOURCE_DIR) / "agent";

// What a room may include, beside itself and base.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"base", {}},
    {"document", {}},
    {"loop", {}},
    {"proc", {}},
    {"policy", {"document"}},
    {"cgroup", {"proc", "loop"}},
    {"config", {"policy", "cgroup", "proc", "loop", "document"}},
    {"report", {"policy", "cgroup", "proc", "loop", "document"}},
    {"control", {"report", "config", "policy", "cgroup", "proc", "loop", "document"}},
    {"reclaim", {"report", "config", "policy", "cgroup", "proc", "loop", "document"}},
    {"kube", {"report", "config", "policy", "cgroup", "proc", "loop", "document"}},
    {"metrics", {"report", "config", "policy", "cgroup", "proc", "loop", "document"}},
    {"http", {"report", "config", "policy", "cgroup", "proc", "loop", "document"}},
    {"node",
     {"kube", "control", "reclaim", "metrics", "http", "report", "config", "policy", "cgroup", "proc", "loop",
      "document"}},
    {"cli",
     {"node", "kube", "control", "reclaim", "metrics", "http", "report", "config", "policy", "cgroup", "proc", "loop",
      "document"}},
    {"helper", {"control"}},  // the wire format it shares with its client
    {"testing", {"cgroup"}},
};

struct ThirdParty {
  std::string prefix;
  std::set<std::string> rooms;  // or a folder of one
};
const std::vector<ThirdParty> kThirdParty = {
    {"cpprest/", {"kube/transport"}}, {"pplx/", {"kube/transport"}}, {"openssl/", {"kube/transport", "testing"}},
    {"yaml-cpp/", {"document"}},      {"nlohmann/", {"document"}},   {"prometheus/", {"metrics"}},
    {"libcgroup", {"cgroup"}},        {"systemd/", {"loop"}},        {"microhttpd", {"http"}},
    {"CLI/", {"cli", "helper"}},      {"spdlog/", {"base"}},
};

struct Include {
  fs::path file;
  std::string room;
  std::string header;
  bool test = false;
};

// What tests share; no part of a room's library.
const std::set<std::string> kTestSupport = {"agent_view.cpp", "agent_view.h", "fuzzing.h"};

bool isTest(const fs::path& file) {
  const std::string name = file.filename().string();
  return kTestSupport.contains(name) || name.find("_test.") != std::string::npos ||
         name.find("_fuzz.") != std::string::npos || name.find("_bench.") != std::string::npos ||
         name.starts_with("fake_");
}

std::vector<fs::path> sources() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(kAgent)) {
    const auto extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".h") out.push_back(entry.path());
  }
  return out;
}

std::vector<Include> includes() {
  std::vector<Include> out;
  const std::regex pattern(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  for (const fs::path& file : sources()) {
    const fs::path relative = fs::relative(file, kAgent);
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
      std::smatch match;
      if (std::regex_search(line, match, pattern)) {
        out.push_back({relative, relative.has_parent_path() ? relative.begin()->string() : "", match[1], isTest(file)});
      }
    }
  }
  return out;
}

TEST(Structure, ArrowsGoOneWay) {
  std::size_t seen = 0;
  for (const Include& include : includes()) {
    const std::string target = include.header.substr(0, include.header.find('/'));
    if (!kArrows.contains(target) || include.header.find('/') == std::string::npos) continue;
    if (include.room.empty() || target == include.room || target == "base") continue;
    if (include.test && (target == "testing" || include.header.starts_with("loop/fake_"))) continue;
    ASSERT_TRUE(kArrows.contains(include.room)) << include.file << ": a room without arrows; add it to this test";
    EXPECT_TRUE(kArrows.at(include.room).contains(target)) << include.file << " may not include " << include.header;
    ++seen;
  }
  EXPECT_GT(seen, 100U);
}

TEST(Structure, ThirdPartyHeadersStayInTheirRoom) {
  std::set<std::string> seen;
  for (const Include& include : includes()) {
    for (const ThirdParty& library : kThirdParty) {
      if (!include.header.starts_with(library.prefix)) continue;
      seen.insert(library.prefix);
      const std::string folder = include.file.parent_path().string();
      EXPECT_TRUE(library.rooms.contains(include.room) || library.rooms.contains(folder))
          << include.file << " may not include <" << include.header << ">";
    }
  }
  EXPECT_GE(seen.size(), 8U);
}

TEST(Structure, NoFileIsTooLongToRead) {
  for (const fs::path& file : sources()) {
    std::ifstream stream(file);
    std::size_t lines = 0;
    for (std::string line; std::getline(stream, line);) ++lines;
    EXPECT_LE(lines, 600U) << file;
  }
}

// What overruns the time of a CI run is lost whole, so the limits of its stages must add up to less.
TEST(Structure, CiStagesFitTheirBudget) {
  std::ifstream stream(fs::path(MEMQOS_SOURCE_DIR) / ".ci" / "run");
  const std::regex pattern(R"(^stage\s+\S+\s+(\d+)\s)");
  int sum = 0;
  int stages = 0;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) continue;
    sum += std::stoi(match[1]);
    ++stages;
  }
  EXPECT_GE(stages, 5);
  EXPECT_LT(sum, 85);
}

}  // namespace
}  // namespace memqos
