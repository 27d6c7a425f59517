// JSON: what is read is written so that it reads as the same, in JSON and as the YAML that JSON is.
#include "document/fuzzing.h"
#include "document/node.h"
#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  const auto text = testing::textOf(data, size);
  const auto tree = document::parseJson(text);
  if (!tree) {
    const auto& failure = tree.error();
    require(failure.position.line > 0 && failure.position.column > 0, "a failure has a place");
    require(!failure.problem().empty(), "a failure has a sentence");
    return 0;
  }
  for (const int indent : {-1, 2}) {
    const auto again = document::parseJson(document::dumpJson(*tree, indent));
    require(again && document::sameTree(*tree, *again), "JSON reads as what was written");
  }
  if (document::hasNoncharacter(document::dumpJson(*tree))) return 0;
  const auto yaml = document::parseYaml(document::dumpYaml(*tree));
  require(yaml.has_value(), "the YAML of a tree can be read");
  if (tree->isNull()) return 0;  // an empty document
  require(yaml->size() == 1 && document::sameTree(*tree, yaml->front()), "YAML reads as what was written");
  return 0;
}
