// Quantities, percentages and limits: what is taken is in range and prints as what it is.
#include "base/quantity.h"

#include <cmath>

#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"
#include "testing/fuzz.h"

namespace memqos {
namespace {

using testing::require;

void checkQuantity(std::string_view text) {
  const auto bytes = parseQuantity(text);
  const auto thousandths = parseMilliQuantity(text);
  require(bytes || !thousandths, "what fits in thousandths fits whole");
  if (!bytes) return;
  if (bytes->count >= 0) {
    const auto again = parseQuantity(toHuman(*bytes));
    require(again && *again == *bytes, "a quantity for people is that quantity");
  }
  if (!thousandths) return;
  const std::int64_t whole = *thousandths / 1000;
  const std::int64_t away = *thousandths % 1000 == 0 ? 0 : *thousandths < 0 ? -1 : 1;
  require(bytes->count == whole + away, "both round away from zero");
}

void checkPercent(std::string_view text) {
  const auto percent = parsePercent(text);
  if (!percent) return;
  for (const std::int64_t whole : {0L, 1L, 4096L, 123'456'789'012L, std::numeric_limits<std::int64_t>::max()}) {
    const Bytes share = percent->of({whole});
    require(share.count >= 0 && share.count <= whole, "a share is no more than the whole");
    require(percent->billionths == 0 || whole == 0 || share.count > 0, "a share of something is something");
  }
}

void checkLimit(std::string_view text) {
  const auto limit = parseLimit(text);
  if (!limit) return;
  require(limit->bytes().count >= 0, "no limit is negative");
  const auto again = parseLimit(toText(*limit));
  require(again && *again == *limit && again->isMax() == limit->isMax(), "the kernel's text is that limit");
}

void checkText(std::string_view text) {
  const std::string valid = validUtf8(text);
  require(validUtf8(valid) == valid, "valid UTF-8 stays as it is");
  for (const char c : log::escapeJson(text)) {
    require(static_cast<unsigned char>(c) >= 0x20, "no control character in a log record");
  }
}

}  // namespace
}  // namespace memqos

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = memqos::testing::textOf(data, size);
  memqos::checkQuantity(text);
  memqos::checkPercent(text);
  memqos::checkLimit(text);
  memqos::checkText(text);
  return 0;
}
