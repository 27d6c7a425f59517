// FILE.memory-qos.nri.io and FILE.memory-qos.nri.io/CONTAINER: raw values of kernel files.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "policy/complaints.h"
#include "policy/dialects.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

constexpr const char* kBytesAdvice = "write bytes, a number with K, M, G or T (powers of 1024), or max";

struct Key {
  std::string_view file;
  std::string_view container;
  bool forContainer = false;
};

std::optional<Key> parse(std::string_view key) {
  const auto slash = std::min(key.find('/'), key.size());
  const std::string_view prefix = key.substr(0, slash);
  if (!prefix.ends_with(kNriSuffix) || prefix.size() == kNriSuffix.size()) return std::nullopt;
  Key out{prefix.substr(0, prefix.size() - kNriSuffix.size()), {}, slash < key.size()};
  if (out.forContainer) out.container = key.substr(slash + 1);
  return out;
}

tl::expected<Asked, BadText> valueOf(const DialectField& field, std::string_view text) {
  if (field.meaning == Meaning::fileFlag) {
    if (text == "1") return true;
    if (text == "0") return false;
    return tl::unexpected(BadText{fmt::format("{} is not a value of {}", inQuotes(text), field.name), "write 0 or 1"});
  }
  auto limit = parseKernelBytes(text);
  if (!limit) return tl::unexpected(std::move(limit.error()));
  return *limit;
}

BadText unknownFile(std::string_view file) {
  return {fmt::format("memqos takes no value for {}", inQuotes(file)),
          didYouMean(cut(file, 64), dialectFieldNames(Dialect::nri))};
}

BadText refusal(const DialectField& field) {
  return {std::string(field.summary), field.name == "class" ? "write memqos.io/class, or the values themselves"
                                                            : "change the container's memory limit"};
}

}  // namespace

tl::expected<Limit, BadText> parseKernelBytes(std::string_view text) {
  const auto bad = [](std::string problem, std::string advice) {
    return tl::unexpected(BadText{std::move(problem), std::move(advice)});
  };
  if (text == "max") return Limit::max();
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view number = text.substr(0, digits);
  const std::string_view unit = text.substr(digits);
  constexpr std::string_view kUnits = "KMGTPE";
  if (unit.size() == 2 && unit[1] == 'i' && kUnits.find(unit[0]) != std::string_view::npos && !number.empty()) {
    return bad(fmt::format("the kernel does not take {}", inQuotes(text)),
               fmt::format("write {}{}, which are powers of 1024 to the kernel", cut(number, 32), unit[0]));
  }
  const char upper = unit.size() == 1 && unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A')
                     : unit.empty()                     ? ' '
                                                        : unit[0];
  const auto power = kUnits.find(upper);
  if (number.empty() || unit.size() > 1 || (unit.size() == 1 && power == std::string_view::npos)) {
    return bad(fmt::format("the kernel does not take {}", inQuotes(text)), kBytesAdvice);
  }
  if (number.size() > 1 && number[0] == '0') {
    return bad(fmt::format("{} is octal to the kernel", inQuotes(text)), "write it without the leading 0");
  }
  const int shift = unit.empty() ? 0 : 10 * static_cast<int>(power + 1);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 0;
  for (const char c : number) {
    const int digit = c - '0';
    if (count > (kMost - digit) / 10) return bad(inQuotes(text) + " is too large", "write max");
    count = count * 10 + digit;
  }
  if (count > (kMost >> shift)) return bad(inQuotes(text) + " is too large", "write max");
  const Bytes bytes{count << shift};
  if (bytes.count > 0 && bytes < kPage) {
    return bad(fmt::format("{} is less than a page", inQuotes(text)), "write a unit (64M), or 0");
  }
  return Limit(bytes);
}

void readNri(const Pod& pod, const Settings& settings, Complaints& complaints, Dialects& out) {
  std::set<std::string_view> names;
  for (const Container& container : pod.containers) names.insert(container.name);
  for (const Annotation& annotation : pod.annotations) {
    const auto key = parse(annotation.key);
    if (!key) continue;
    if (key->forContainer && !names.contains(key->container)) {
      if (complaints.mayAdd()) complaints.add(annotation, "", noSuchContainer(names, key->container));
      continue;
    }
    const DialectField* field = findDialectField(Dialect::nri, key->file);
    if (field == nullptr) {
      if (complaints.mayAdd()) complaints.add(annotation, key->container, unknownFile(key->file));
      continue;
    }
    if (field->meaning == Meaning::refused) {
      // An empty class is how the plugin's documentation drops the pod's class; there is none to drop.
      if (field->name != "class" || !annotation.value.empty()) {
        complaints.report(annotation, key->container, refusal(*field));
      }
      continue;
    }
    auto bad = forbidden(*field->knob, pod, settings);
    auto value = valueOf(*field, annotation.value);
    if (!bad && !value) bad = value.error();
    if (bad) {
      complaints.report(annotation, key->container, *bad);
      continue;
    }
    Layer& layer = key->forContainer ? out.nriContainers[std::string(key->container)] : out.nriPod;
    layer.insert_or_assign(*field->knob, Ask{std::move(*value),
                                             annotation.value,
                                             {Origin::Kind::dialect, annotation.key},
                                             annotation.key,
                                             sourceOf(pod, annotation)});
  }
}

}  // namespace memqos::policy
