#include "node/agent_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "http/client.h"

namespace memqos::node {

http::Response get(const testing::AgentProcess& agent, const std::string& target) {
  const auto reply = http::request(agent.folder() + "/run/agent.sock", "GET", target, "", std::chrono::seconds(30));
  return reply ? *reply : http::Response{0, "", reply.error().text()};
}

double metric(const testing::AgentProcess& agent, const std::string& series) {
  std::istringstream page(get(agent, "/metrics").body);
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(series + " ")) return std::strtod(line.c_str() + series.size(), nullptr);
  }
  return -1;
}

document::Node explained(const testing::AgentProcess& agent, const std::string& pod, const std::string& container,
                         const std::string& knob) {
  const auto body = document::parseJson(agent.cli({"explain", pod, "--output", "json"}).out);
  const document::Node* pods = body ? body->find("pods") : nullptr;
  if (pods == nullptr || pods->items.empty()) return {};
  for (const document::Node& one : pods->items.front().find("containers")->items) {
    if (at(one, "name") != container) continue;
    for (const document::Node& row : one.find("knobs")->items) {
      if (at(row, "knob") == knob) return row;
    }
  }
  return {};
}

std::string at(const document::Node& row, std::string_view key) {
  const document::Node* value = row.find(key);
  if (value == nullptr) return "-";
  return value->isNull() ? "null" : value->scalar;
}

std::vector<std::string> complaints(const testing::AgentProcess& agent) {
  std::vector<std::string> out;
  std::istringstream log(agent.log());
  for (std::string line; std::getline(log, line);) {
    std::istringstream words(line);
    std::string time;
    std::string level;
    words >> time >> level;
    if (level == "warning" || level == "error") out.push_back(line);
  }
  return out;
}

namespace {

std::int64_t numberAfter(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  while (in >> word && word != key) {
  }
  std::int64_t value = 0;
  in >> value;
  return value;
}

// A setting of the kernel, put back at the end of the scope.
class Sysctl {
 public:
  Sysctl(std::string path, std::int64_t value) : path_(std::move(path)) {
    std::ifstream(path_) >> before_;
    std::ofstream(path_) << value;
  }
  ~Sysctl() { std::ofstream(path_) << before_; }
  Sysctl(const Sysctl&) = delete;
  Sysctl& operator=(const Sysctl&) = delete;

 private:
  std::string path_;
  std::string before_;
};

// Puts kswapd's mark above what is free, and that of direct reclaim under it.
void runKswapd() {
  constexpr std::int64_t kRoomKiB = 256LL * 1024;
  const std::int64_t before = numberAfter("/proc/vmstat", "pageoutrun");
  const Sysctl scale("/proc/sys/vm/watermark_scale_factor", 3000);
  const Sysctl least("/proc/sys/vm/min_free_kbytes",
                     std::max(numberAfter("/proc/meminfo", "MemFree:") - kRoomKiB, std::int64_t{4096}));
  EXPECT_TRUE(testing::waitUntil([&] {
    const std::vector<char> some(static_cast<std::size_t>(mebibytes(4).count), 1);  // who allocates wakes it
    return numberAfter("/proc/vmstat", "pageoutrun") > before && some.back() == 1;
  }));
}

}  // namespace

void pressNode() {
  runKswapd();
  const Fd file(::open("/sys/fs/cgroup/memory.reclaim", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  // One write gives up after 16 rounds without progress: EAGAIN, which here is the aim.
  for (int i = 0; i < 4; ++i) {
    if (::write(file.get(), "1G", 2) != 2) {
      ASSERT_EQ(errno, EAGAIN);
    }
  }
}

Place systemdPlace(const std::string& qos, char uid, const std::string& parent) {
  const std::string kubepods = parent.empty() ? "kubepods" : parent + "-kubepods";
  const std::string name = qos.empty() ? kubepods : kubepods + "-" + qos;
  std::string path = parent.empty() ? "" : parent + ".slice/";
  path += kubepods + ".slice/";
  if (!qos.empty()) path += name + ".slice/";
  path += fmt::format("{0}-pod{1}_1111_4222_8333_{1}4444.slice", name, std::string(8, uid));
  return {path, fmt::format("{}/cri-containerd-{}.scope", path, std::string(64, uid))};
}

Place cgroupfsPlace(const std::string& qos, char uid) {
  const std::string path =
      fmt::format("kubepods/{0}{1}pod{2}-1111-4222-8333-{2}4444", qos, qos.empty() ? "" : "/", std::string(8, uid));
  return {path, fmt::format("{}/{}", path, std::string(64, uid))};
}

}  // namespace memqos::node
