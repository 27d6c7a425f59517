// The journal of a crash: the boot's id in the first line, the file in the others.
#include "control/journal.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  auto text = testing::textOf(data, size);
  const auto bootId = testing::takeUntil(text, '\n');
  const auto entries = control::parseJournal(text, bootId);
  if (!entries) return 0;
  std::string written = "memqos-journal 1 " + std::string(bootId) + "\n";
  std::string done = written;
  for (const auto& [key, entry] : *entries) {
    require(!entry.ours.empty() && entry.ours.size() <= control::kOursKept, "an entry has values of ours");
    written += control::formatWrite(key, entry);
    done += control::formatWrite(key, entry) + control::formatDone(key);
  }
  const auto again = control::parseJournal(written, bootId);
  require(again && *again == *entries, "what is live survives a rewrite");
  const auto empty = control::parseJournal(done, bootId);
  require(empty && empty->empty(), "what is done is gone");
  // A crash may cut the last line anywhere.
  if (!written.empty()) {
    require(control::parseJournal(written.substr(0, size % written.size()), bootId).has_value(),
            "a torn line is dropped");
  }
  return 0;
}
