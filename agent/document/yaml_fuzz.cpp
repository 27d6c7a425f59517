// YAML: what is read is written so that it reads as the same; a document that cannot be read costs no other one.
#include "document/fuzzing.h"
#include "document/node.h"
#include "testing/fuzz.h"

namespace {

using namespace memqos;
using testing::require;

void checkRoundTrip(const document::Node& root) {
  const std::string written = document::dumpJson(root);
  if (!document::hasNoncharacter(written)) {
    const auto yaml = document::parseYaml(document::dumpYaml(root));
    require(yaml && yaml->size() == 1 && document::sameTree(root, yaml->front()), "YAML reads as what was written");
  }
  const auto json = document::parseJson(written);
  require(json.has_value(), "the JSON of a tree can be read");
  if (document::isFinite(root)) require(document::sameTree(root, *json), "JSON reads as what was written");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = testing::textOf(data, size);
  const auto roots = document::parseYaml(text);
  const auto documents = document::parseYamlDocuments(text);
  if (roots) {
    require(documents.failures.empty() && documents.nodes.size() == roots->size(), "both readers agree");
  } else {
    const auto& failure = roots.error();
    require(failure.position.line > 0 && failure.position.column > 0, "a failure has a place");
    require(!documents.failures.empty(), "both readers agree on a failure");
  }
  for (const document::Node& root : documents.nodes) checkRoundTrip(root);
  return 0;
}
