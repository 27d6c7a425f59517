#include "report/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/table.h"
#include "report/values.h"

namespace memqos::report {
namespace {

using document::Node;

bool isSuccess(std::string_view result) {
  constexpr std::array kWords = {kRestored, kUnchanged, kGone, kForeign};
  return std::find(kWords.begin(), kWords.end(), result) != kWords.end();
}

Node fileValue(const std::string& path, const std::optional<Limit>& value) {
  if (!value) return Node::null();
  const auto file = cgroup::findFile(std::string_view(path).substr(path.rfind('/') + 1));
  return file ? fileValueNode(*file, *value) : limitNode(*value);
}

}  // namespace

bool failed(const RestoredFile& file) {
  return !isSuccess(file.result);
}

Node restoreBody(std::span<const RestoredFile> files) {
  std::vector<Node> rows;
  rows.reserve(files.size());
  for (const RestoredFile& file : files) {
    Node row = Node::map();
    row.set("file", Node::string(file.file));
    row.set("from", fileValue(file.file, file.from));
    row.set("to", fileValue(file.file, file.to));
    row.set("result", Node::string(file.result));
    rows.push_back(std::move(row));
  }
  Node body = Node::map();
  body.set("files", Node::list(std::move(rows)));
  return body;
}

std::size_t countFailed(const Node& body) {
  const auto& rows = itemsOf(body, "files");
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Node& row) { return !isSuccess(field(row, "result")); }));
}

std::string restoreText(const Node& body) {
  const auto& rows = itemsOf(body, "files");
  if (rows.empty()) return "nothing to restore\n";
  Table table({{"FILE"}, {"FROM", Align::right}, {"TO", Align::right}, {"RESULT"}});
  for (const Node& row : rows) {
    table.add({field(row, "file"), cell(row, "from"), cell(row, "to"), field(row, "result")});
  }
  return table.text();
}

}  // namespace memqos::report
