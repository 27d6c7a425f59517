#include "base/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/file.h"

namespace memqos {
namespace {

constexpr std::string_view kBegin = "<!-- generated: begin ";
constexpr std::string_view kBeginClose = " -->";
constexpr std::string_view kEnd = "<!-- generated: end -->";
constexpr std::size_t kFileCap = std::size_t{4} * 1024 * 1024;

Status write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return fail(Code::io, "cannot be written", path);
  return {};
}

// Whether the file was stale.
Result<bool> refreshFile(const std::string& path, bool onlyCheck, std::span<const GeneratedPart> parts) {
  const auto text = readFile(path, kFileCap);
  if (!text) return tl::unexpected(text.error());
  const auto fresh = refreshGenerated(*text, parts);
  if (!fresh) return tl::unexpected(Error(fresh.error()).in(path));
  if (*fresh == *text) return false;
  if (!onlyCheck) {
    if (const auto written = write(path, *fresh); !written) return tl::unexpected(written.error());
  }
  return true;
}

}  // namespace

Result<std::string> refreshGenerated(std::string_view text, std::span<const GeneratedPart> parts) {
  std::string out;
  while (true) {
    const auto begin = text.find(kBegin);
    if (begin == std::string_view::npos) return out += text;
    const auto close = text.find(kBeginClose, begin);
    const auto line = text.find('\n', begin);
    const auto mark = text.find(kEnd, begin);
    if (close == std::string_view::npos || line == std::string_view::npos || mark == std::string_view::npos ||
        line < close || mark < line) {
      return fail(Code::invalid, fmt::format("a line '{}NAME -->' has no '{}'", kBegin, kEnd));
    }
    const std::string_view name = text.substr(begin + kBegin.size(), close - begin - kBegin.size());
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const GeneratedPart& p) { return p.name == name; });
    if (part == parts.end()) return fail(Code::invalid, fmt::format("there is no generated part '{}'", name));
    out += text.substr(0, line + 1);
    out += part->render();
    text.remove_prefix(text.rfind('\n', mark) + 1);
    const auto rest = text.find(kEnd) + kEnd.size();
    out += text.substr(0, rest);
    text.remove_prefix(rest);
  }
}

int generateMain(int argc, const char* const* argv, std::span<const GeneratedPart> parts) {
  std::vector<std::string> paths(argv + std::min(argc, 1), argv + argc);
  const bool onlyCheck = !paths.empty() && paths.front() == "--check";
  if (onlyCheck) paths.erase(paths.begin());
  if (paths.empty()) {
    fmt::print(stderr, "usage: {} [--check] FILE...\n", argc > 0 ? argv[0] : "generate");
    return 1;
  }
  int status = 0;
  for (const std::string& path : paths) {
    const auto stale = refreshFile(path, onlyCheck, parts);
    if (!stale) {
      fmt::print(stderr, "{}\n", stale.error().text());
      status = 1;
    } else if (*stale) {
      fmt::print("{}{}\n", path, onlyCheck ? " is stale; run make generate" : "");
      if (onlyCheck) status = 1;
    }
  }
  return status;
}

}  // namespace memqos
