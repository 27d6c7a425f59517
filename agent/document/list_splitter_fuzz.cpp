// A list object in parts: however it is cut, the items are those that the parser finds in the whole.
#include "document/list_splitter.h"

#include <string>
#include <vector>

#include "document/fuzzing.h"
#include "document/node.h"
#include "testing/fuzz.h"

namespace {

struct Split {
  std::vector<std::string> items;
  std::string envelope;
};

Split split(std::string_view text, std::size_t cut) {
  Split out;
  memqos::document::ListSplitter splitter([&](std::string_view item) {
    out.items.emplace_back(item);
    return true;
  });
  splitter.feed(text.substr(0, cut));
  splitter.feed(text.substr(cut));
  out.envelope = splitter.envelope();
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  const Split whole = split(text, 0);
  const std::size_t cut = size == 0 ? 0 : data[0] % (size + 1);
  const Split parts = split(text, cut);
  require(parts.items == whole.items && parts.envelope == whole.envelope, "a cut changes nothing");

  const auto tree = document::parseJson(text);
  if (!tree) return 0;
  const document::Node* items = tree->find("items");
  const bool isList = items != nullptr && items->kind == document::Kind::list;
  // A key with an escape in it is another text here, and never the API server's.
  if (text.find('\\') != std::string_view::npos) return 0;
  require(whole.items.size() == (isList ? items->items.size() : 0), "every item and nothing else");
  for (std::size_t i = 0; i < whole.items.size(); ++i) {
    const auto item = document::parseJson(whole.items[i]);
    require(item && document::sameTree(*item, items->items[i]), "an item is what it is in the list");
  }
  const auto envelope = document::parseJson(whole.envelope);
  require(envelope.has_value(), "what is no item is JSON");
  return 0;
}
