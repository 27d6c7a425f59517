// koordinator.sh/memoryQOS: a JSON object of a policy and whole numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/log.h"
#include "document/node.h"
#include "policy/complaints.h"
#include "policy/dialects.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

using document::Kind;
using document::Node;

constexpr std::array<std::string_view, 3> kPolicies = {"default", "none", "auto"};

// Far more than all the fields need; annotations may have 256 KiB.
constexpr document::Caps kCaps{.bytes = 16 * 1024, .depth = 8, .nodes = 256};

// Koordinator's templates (pkg/util/sloconfig, NoneMemoryQOS and DefaultMemoryQOS, which is the same for the classes
// LSR, LS and BE but for wmarkMinAdj). Both have oomKillGroup 0 too, which nobody asked for who wrote a policy only,
// and which would take the kubelet's memory.oom.group back.
struct Preset {
  std::string_view field;
  std::int64_t none;
  std::optional<std::int64_t> automatic;
};
constexpr std::array<Preset, 6> kPresets = {{
    {"minLimitPercent", 0, 0},
    {"lowLimitPercent", 0, 0},
    {"throttlingPercent", 0, 0},
    {"wmarkRatio", 0, 95},
    {"wmarkScalePermill", 50, 20},
    {"pageCacheEnable", 0, {}},
}};

constexpr Percent percentOf(std::int64_t thousandths) {
  return {thousandths * 100'000'000};
}

std::string rangeText(const DialectField& field) {
  if (field.most == std::numeric_limits<std::int64_t>::max()) return fmt::format("{} or more", field.least);
  if (field.most == field.least + 1) return fmt::format("{} or {}", field.least, field.most);
  return fmt::format("from {} to {}", field.least, field.most);
}

class Reader {
 public:
  Reader(const Annotation& annotation, const Pod& pod, const Settings& settings, Complaints& complaints)
      : annotation_(annotation), pod_(pod), settings_(settings), complaints_(complaints) {}

  Layer read() {
    const auto object = parse();
    if (!object) return {};
    const std::string policy = readPolicy(object->find("policy"));
    for (const Preset& preset : kPresets) {
      if (policy == "auto" && preset.automatic) numbers_[preset.field] = {*preset.automatic, "policy auto"};
      if (policy == "none") numbers_[preset.field] = {preset.none, "policy none"};
    }
    for (const document::Member& member : object->members) {
      const auto number = readField(member);
      // As koordlet has it: beside `none` nothing else counts.
      if (number && policy != "none") {
        numbers_[number->field->name] = {number->value, fmt::format("{} {}", number->field->name, number->value)};
      }
    }
    for (const DialectField& field : dialectFields()) {
      if (field.dialect == Dialect::koordinator) apply(field);
    }
    return std::move(layer_);
  }

 private:
  struct Number {
    std::int64_t value = 0;
    std::string text;  // where it is from
  };
  struct FieldNumber {
    const DialectField* field;
    std::int64_t value;
  };

  std::optional<Node> parse() {
    auto parsed = document::parseJson(annotation_.value, kCaps);
    if (parsed && parsed->kind == Kind::map) return std::move(*parsed);
    const std::string what =
        parsed ? fmt::format("it is {}", name(parsed->kind)) : log::escapeJson(cut(parsed.error().problem(), 256));
    complain({fmt::format("not a JSON object: {}", what),
              "write an object such as {\"policy\": \"auto\"} or {\"lowLimitPercent\": 50}"});
    return std::nullopt;
  }

  std::string readPolicy(const Node* node) {
    if (node == nullptr || node->isNull()) return "";
    const bool known = std::find(kPolicies.begin(), kPolicies.end(), node->scalar) != kPolicies.end();
    if (node->kind == Kind::string && (known || node->scalar.empty())) return node->scalar;
    complain({fmt::format("there is no policy {}", shown(*node)), didYouMean(cut(node->scalar, 64), kPolicies)});
    return "";
  }

  std::optional<FieldNumber> readField(const document::Member& member) {
    const DialectField* field = findDialectField(Dialect::koordinator, member.key);
    if (field == nullptr) {
      if (!complaints_.mayAdd()) return std::nullopt;
      complaints_.add(annotation_, "",
                      {fmt::format("memoryQOS has no field {}", inQuotes(member.key)),
                       didYouMean(cut(member.key, 64), dialectFieldNames(Dialect::koordinator))});
      return std::nullopt;
    }
    if (field->meaning == Meaning::policy || member.value.isNull()) return std::nullopt;
    const auto value = readNumber(*field, member.value);
    if (!value) return std::nullopt;
    if (field->meaning != Meaning::vendorKernel) return FieldNumber{field, *value};
    if (*value != 0) {
      complain({fmt::format("{} {} is ignored: {}", field->name, *value, field->summary), "remove the field"},
               Reason::unsupported);
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> readNumber(const DialectField& field, const Node& node) {
    if (node.kind == Kind::boolean && field.least == 0 && field.most == 1) return *node.asBoolean() ? 1 : 0;
    // A number beyond 64 bits is a real one to the parser.
    const bool whole = node.kind == Kind::integer ||
                       (node.kind == Kind::real && node.scalar.find_first_not_of("-0123456789") == std::string::npos);
    if (!whole) {
      const auto quoted = node.kind == Kind::string ? document::parseJson(node.scalar, kCaps) : Node{};
      const bool number = quoted && quoted->kind == Kind::integer && inRange(field, *quoted);
      complain({fmt::format("{} {} is not a whole number", field.name, shown(node)),
                number ? fmt::format("write {} without quotes", node.scalar)
                       : fmt::format("write a whole number, {}", rangeText(field))});
      return std::nullopt;
    }
    if (!inRange(field, node)) {
      complain({fmt::format("{} {} is out of range", field.name, shown(node)),
                fmt::format("write a whole number, {}", rangeText(field))});
      return std::nullopt;
    }
    return *node.asInteger();
  }

  static bool inRange(const DialectField& field, const Node& node) {
    const auto value = node.asInteger();
    return value && *value >= field.least && *value <= field.most;
  }

  // 'text' of a scalar; lists and maps by their kind.
  static std::string shown(const Node& node) {
    if (node.kind == Kind::list || node.kind == Kind::map) return fmt::format("({})", name(node.kind));
    return inQuotes(node.scalar);
  }

  void apply(const DialectField& field) {
    const auto found = numbers_.find(field.name);
    if (field.meaning == Meaning::cacheSwitch) return applyCache(found == numbers_.end() ? nullptr : &found->second);
    if (found == numbers_.end()) return;
    const auto& [value, text] = found->second;
    switch (field.meaning) {
      case Meaning::requestPercent:
        return ask(*field.knob, percentOf(value * 10), text);
      case Meaning::throttling:
        if (value == 0) return ask(*field.knob, Limit::max(), text);
        return ask(*field.knob, std::string("auto"), text, value * 10);
      case Meaning::watermark:
        ask(Knob::reclaim, std::string(value == 0 ? "off" : "watermark"), text);
        if (value > 0) ask(*field.knob, percentOf(value * 10), text);
        return;
      case Meaning::watermarkGap:
        return applyGap(*field.knob, found->second);
      case Meaning::flag:
        return ask(*field.knob, value == 1, text);
      default:
        return;
    }
  }

  void applyGap(Knob knob, const Number& gap) {
    const Number& ratio = numbers_["wmarkRatio"];
    if (ratio.value == 0) return;
    const std::int64_t low = ratio.value * 10 - gap.value;
    if (low <= 0) {
      return complain({fmt::format("wmarkScalePermill {} leaves nothing under wmarkRatio {}", gap.value, ratio.value),
                       fmt::format("write less than {}, which are thousandths", ratio.value * 10)});
    }
    ask(knob, percentOf(low), ratio.text == gap.text ? gap.text : fmt::format("{}, {}", ratio.text, gap.text));
  }

  // `enable` is null where the annotation does not say.
  void applyCache(const Number* enable) {
    const Number& size = numbers_["pageCacheLimitSize"];
    const Number& percent = numbers_["pageCacheLimitPercent"];
    if (enable != nullptr && enable->value == 0) return ask(Knob::pageCacheLimit, std::string("off"), enable->text);
    const bool some = size.value > 0 || percent.value > 0;
    if (enable == nullptr) {
      // koordlet takes it from the cluster's configuration then, where it is off by default.
      if (some) {
        complain({fmt::format("{} has no effect without pageCacheEnable", (size.value > 0 ? size : percent).text),
                  "add \"pageCacheEnable\": 1, or write memqos.io/page-cache-limit"});
      }
      return;
    }
    if (size.value > 0 && Bytes{size.value} < kPage) {
      return complain({fmt::format("{} is less than a page", size.text), "write bytes"});
    }
    if (size.value > 0) return ask(Knob::pageCacheLimit, Limit(Bytes{size.value}), size.text);
    if (percent.value > 0) return ask(Knob::pageCacheLimit, percentOf(percent.value * 10), percent.text);
    complain({"pageCacheEnable 1 names no limit", "add pageCacheLimitPercent or pageCacheLimitSize"});
  }

  void ask(Knob knob, Asked value, const std::string& text, std::optional<std::int64_t> factorPermille = {}) {
    if (auto bad = forbidden(knob, pod_, settings_)) return complain(*bad);
    layer_.insert_or_assign(knob, Ask{std::move(value),
                                      text,
                                      {Origin::Kind::dialect, annotation_.key},
                                      annotation_.key,
                                      sourceOf(pod_, annotation_),
                                      factorPermille});
  }

  void complain(BadText text, Reason reason = Reason::invalidAnnotation) {
    complaints_.report(annotation_, "", std::move(text), reason);
  }

  const Annotation& annotation_;
  const Pod& pod_;
  const Settings& settings_;
  Complaints& complaints_;
  std::map<std::string_view, Number> numbers_;  // by field
  Layer layer_;
};

}  // namespace

Layer readKoordinator(const Annotation& annotation, const Pod& pod, const Settings& settings, Complaints& complaints) {
  return Reader(annotation, pod, settings, complaints).read();
}

}  // namespace memqos::policy
