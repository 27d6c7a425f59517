#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.h"
#include "base/quantity.h"
#include "config/binder.h"
#include "config/folder.h"
#include "document/node.h"
#include "policy/suggest.h"
#include "policy/value.h"

namespace memqos::config {
namespace {

using document::Kind;
using document::Member;
using policy::inQuotes;

constexpr std::array<std::string_view, 2> kQosSlices = {"manage", "observe"};
constexpr std::array<std::string_view, 2> kLowOnMglru = {"hold", "kernel"};
constexpr std::array<std::string_view, 3> kRestoreOnExit = {"auto", "always", "never"};

// The keys of a configuration, each with what it fills.
class Reader {
 public:
  Reader(std::string file, Loaded& out) : binder_(std::move(file), out.findings), config_(out.config) {}

  [[nodiscard]] std::vector<Binder::Key> topLevel();
  Binder& binder() { return binder_; }

 private:
  Binder::Read flag(bool& to) {
    return [this, &to](const Node& node, const std::string& path) { to = binder_.boolean(node, path).value_or(to); };
  }
  template <typename Enum>
  Binder::Read word(Enum& to, std::span<const std::string_view> words) {
    return [this, &to, words](const Node& node, const std::string& path) {
      if (const auto index = binder_.word(node, path, words)) to = static_cast<Enum>(*index);
    };
  }
  Binder::Read share(Percent& to) {
    return [this, &to](const Node& node, const std::string& path) {
      constexpr int kDecimals = 11;  // 1 is 10^11 billionths of a percent
      if (const auto value = binder_.share(node, path, kDecimals)) to.billionths = *value;
    };
  }
  Binder::Read section(std::vector<Binder::Key> keys) {
    return [this, keys = std::move(keys)](const Node& node, const std::string& path) { binder_.map(node, path, keys); };
  }

  void throttlingFactor(const Node& node, const std::string& path);
  void smallestHigh(const Node& node, const std::string& path);
  void knobsByNamespace(const Node& node, const std::string& path);
  void classes(const Node& node, const std::string& path);
  void knobTexts(const Node& node, const std::string& path, bool isClass, policy::KnobTexts& to);
  std::optional<policy::Knob> knob(const std::string& name) { return policy::findKnobCamel(name); }
  static std::string knobAdvice(const std::string& name);
  void cgroupRoot(const Node& node, const std::string& path);
  void stateDirs(const Node& node, const std::string& path);
  void sandboxedRuntimeClasses(const Node& node, const std::string& path);
  void listen(const Node& node, const std::string& path);

  Binder binder_;
  Config& config_;
};

std::vector<Binder::Key> Reader::topLevel() {
  policy::Settings& settings = config_.policy;
  policy::Guardrails& rails = settings.guardrails;
  const auto call = [this](void (Reader::*read)(const Node&, const std::string&)) -> Binder::Read {
    return [this, read](const Node& node, const std::string& path) { (this->*read)(node, path); };
  };
  return {
      {"defaults", [this, &settings](const Node& node,
                                     const std::string& path) { knobTexts(node, path, false, settings.defaults); }},
      {"classes", call(&Reader::classes)},
      {"guardrails",
       section({{"maxProtectionShare", section({{"min", share(rails.maxShareMin)}, {"low", share(rails.maxShareLow)}})},
                {"smallestHigh", call(&Reader::smallestHigh)},
                {"swapMayRaise", flag(rails.swapMayRaise)},
                {"freezeAllowed", flag(rails.freezeAllowed)},
                {"knobsByNamespace", call(&Reader::knobsByNamespace)}})},
      {"throttlingFactor", call(&Reader::throttlingFactor)},
      {"qosSlices", word(config_.qosSlices, kQosSlices)},
      {"lowOnMglru", word(config_.lowOnMglru, kLowOnMglru)},
      {"reclaim", section({{"floorAtRequest", flag(config_.reclaimFloorAtRequest)},
                           {"onIsolatedCpus", flag(config_.reclaimOnIsolatedCpus)}})},
      {"dialects",
       section({{"koordinator", flag(settings.dialects.koordinator)}, {"nri", flag(settings.dialects.nri)}})},
      {"restoreOnExit", word(config_.restoreOnExit, kRestoreOnExit)},
      {"cgroupRoot", call(&Reader::cgroupRoot)},
      {"stateDirs", call(&Reader::stateDirs)},
      {"sandboxedRuntimeClasses", call(&Reader::sandboxedRuntimeClasses)},
      {"metrics", section({{"listen", call(&Reader::listen)},
                           {"maxSeries",
                            [this](const Node& node, const std::string& path) {
                              constexpr std::int64_t kMost = 10'000'000;
                              if (const auto value = binder_.integer(node, path, 1, kMost)) {
                                config_.metricsMaxSeries = static_cast<std::size_t>(*value);
                              }
                            }}})},
  };
}

void Reader::throttlingFactor(const Node& node, const std::string& path) {
  const auto permille = binder_.share(node, path, 3);
  if (!permille) return;
  if (*permille == 0) return binder_.bad(node, path, "it must be more than 0", "write e.g. 0.9");
  config_.policy.throttlingFactorPermille = *permille;
}

void Reader::smallestHigh(const Node& node, const std::string& path) {
  constexpr const char* kAdvice = "write a quantity such as 64Mi";
  const bool scalar = node.kind == Kind::string || node.kind == Kind::integer || node.kind == Kind::real;
  const auto parsed = parseQuantity(scalar ? node.jsonText() : "");
  if (!parsed) return binder_.bad(node, path, fmt::format("{} is not a quantity", inQuotes(node.scalar)), kAdvice);
  if (parsed->count < 0) return binder_.bad(node, path, fmt::format("{} is negative", inQuotes(node.scalar)), kAdvice);
  config_.policy.guardrails.smallestHigh = *parsed;
}

// Another spelling of a knob's name, or a near one; else how names look.
std::string Reader::knobAdvice(const std::string& name) {
  const auto near = policy::suggestKnob(name);
  const auto found = near ? policy::findKnob(*near) : std::nullopt;
  if (found) return fmt::format("did you mean {}?", policy::info(*found).camelName);
  return "knobs are named as in annotations, in camelCase, e.g. memoryMin";
}

void Reader::knobsByNamespace(const Node& node, const std::string& path) {
  if (node.isNull()) return;
  std::map<std::string, std::set<policy::Knob>> allowed;
  binder_.entries(node, path, [&](const Member& member, const std::string& at) {
    std::set<policy::Knob>& knobs = allowed[member.key];
    binder_.list(member.value, at, [&](const Node& item, const std::string& itemPath) {
      const auto name = binder_.string(item, itemPath, "memoryMin");
      if (!name) return;
      const auto found = knob(*name);
      if (!found)
        return binder_.bad(item, itemPath, fmt::format("there is no knob {}", inQuotes(*name)), knobAdvice(*name));
      knobs.insert(*found);
    });
  });
  if (node.kind == Kind::map) config_.policy.guardrails.knobsByNamespace = std::move(allowed);
}

void Reader::classes(const Node& node, const std::string& path) {
  binder_.entries(node, path, [&](const Member& member, const std::string& at) {
    // As an annotation's value names it, so what a label's value may hold.
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
             c == '.';
    };
    if (member.key.empty() || member.key.size() > 63 || !std::all_of(member.key.begin(), member.key.end(), fits)) {
      return binder_.badKey(member, at, fmt::format("{} cannot be a class's name", inQuotes(member.key)),
                            "use at most 63 letters, digits, '-', '_' and '.'");
    }
    knobTexts(member.value, at, true, config_.policy.classes[member.key]);
  });
}

void Reader::knobTexts(const Node& node, const std::string& path, bool isClass, policy::KnobTexts& to) {
  binder_.entries(node, path, [&](const Member& member, const std::string& at) {
    const Node& value = member.value;
    const auto found = knob(member.key);
    if (!found) return binder_.badKey(member, at, "there is no such knob", knobAdvice(member.key));
    if (isClass && *found == policy::Knob::klass) {
      return binder_.badKey(member, at, "a class cannot take its knobs from another class", "remove it");
    }
    if (value.isNull() || value.kind == Kind::list || value.kind == Kind::map) {
      return binder_.bad(value, at, fmt::format("this is {}, not a value", name(value.kind)),
                         "write it as in an annotation");
    }
    // Values are the annotations' texts, so what was written counts and not what YAML makes of it: off stays "off".
    if (const auto checked = policy::checkText(*found, value.scalar); !checked) {
      return binder_.bad(value, at, checked.error().problem, checked.error().advice);
    }
    to.texts[*found] = {value.scalar, value.position, binder_.file()};
  });
}

void Reader::cgroupRoot(const Node& node, const std::string& path) {
  const auto given = binder_.string(node, path, "/kube");
  if (!given) return;
  std::string root;
  for (std::string_view rest = *given; !rest.empty();) {
    const auto slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part.empty()) continue;
    if (part == "." || part == ".." || part.find('\0') != std::string_view::npos) {
      return binder_.bad(node, path, fmt::format("{} is not a path below the cgroup mount", inQuotes(*given)),
                         "write the path without '.' and '..'");
    }
    root += fmt::format("{}{}", root.empty() ? "" : "/", part);
  }
  config_.cgroupRoot = root;
}

void Reader::stateDirs(const Node& node, const std::string& path) {
  std::vector<std::string> dirs;
  bool good = node.kind == Kind::list;
  binder_.list(node, path, [&](const Node& item, const std::string& at) {
    const auto dir = binder_.string(item, at, "/run/containerd");
    if (dir && dir->starts_with('/') && dir->find('\0') == std::string::npos) return dirs.push_back(*dir);
    good = false;
    if (dir)
      binder_.bad(item, at, fmt::format("{} is not an absolute path", inQuotes(*dir)), "write e.g. /run/containerd");
  });
  if (good) config_.stateDirs = std::move(dirs);
}

void Reader::sandboxedRuntimeClasses(const Node& node, const std::string& path) {
  std::vector<std::string> names;
  bool good = node.kind == Kind::list;
  binder_.list(node, path, [&](const Node& item, const std::string& at) {
    const auto name = binder_.string(item, at, "kata*");
    if (name && !name->empty() && name->find('*') >= name->size() - 1) return names.push_back(*name);
    good = false;
    if (name)
      binder_.bad(item, at, fmt::format("{} is not a RuntimeClass", inQuotes(*name)), "write a name, or e.g. kata*");
  });
  if (good) config_.policy.sandboxedRuntimeClasses = std::move(names);
}

void Reader::listen(const Node& node, const std::string& path) {
  const auto given = binder_.string(node, path, "127.0.0.1:9464");
  if (!given) return;
  const auto colon = given->rfind(':');
  const std::string_view port = colon == std::string::npos ? "" : std::string_view(*given).substr(colon + 1);
  std::uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  const std::string_view host = std::string_view(*given).substr(0, std::min(colon, given->size()));
  const bool bareV6 = host.find(':') != std::string_view::npos && !(host.starts_with('[') && host.ends_with(']'));
  if (parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size() || bareV6) {
    return binder_.bad(node, path, fmt::format("{} is not HOST:PORT", inQuotes(*given)),
                       "write e.g. 127.0.0.1:9464, [::1]:9464 or :9464");
  }
  config_.metricsListen = *given;
}

// The map at the top of one file; nullopt: the file has none, or a finding says why.
std::optional<Node> topOf(const std::string& text, Binder& binder) {
  document::Caps caps;
  caps.aliases = false;
  auto parsed = document::parseYaml(text, caps);
  Node place;
  if (!parsed) {
    place.position = parsed.error().position;
    binder.bad(place, "", parsed.error().problem(), "");
    return std::nullopt;
  }
  if (parsed->empty()) return std::nullopt;
  if (parsed->size() > 1) {
    binder.bad((*parsed)[1], "", "a second document in this file", "write one document, without '---' inside");
    return std::nullopt;
  }
  return std::move(parsed->front());
}

// The default class must be one of ours; only known once every file was read.
void checkDefaultClass(Loaded& loaded) {
  const policy::Settings& settings = loaded.config.policy;
  const auto found = settings.defaults.texts.find(policy::Knob::klass);
  if (found == settings.defaults.texts.end() || settings.classes.contains(found->second.value)) return;
  std::vector<std::string_view> names;
  names.reserve(settings.classes.size());
  for (const auto& [name, texts] : settings.classes) names.push_back(name);
  Node value = Node::string(found->second.value);
  value.position = found->second.position;
  Binder(found->second.file, loaded.findings)
      .bad(value, "defaults.class", fmt::format("there is no class {}", inQuotes(value.scalar)),
           names.empty() ? "define it under classes" : policy::didYouMean(value.scalar, names));
}

}  // namespace

Loaded parse(const std::map<std::string, std::string>& files) {
  Loaded out;
  std::map<std::string, policy::Source> seen;  // where each top-level key stands
  for (const auto& [file, text] : files) {
    Reader reader(file, out);
    auto top = topOf(text, reader.binder());
    if (!top) continue;
    if (top->kind == Kind::map) {
      std::erase_if(top->members, [&](const Member& member) {
        const auto [first, isNew] = seen.emplace(member.key, policy::Source{file, member.position, ""});
        if (isNew) return false;
        reader.binder().badKey(
            member, member.key,
            fmt::format("it is also set in {}, line {}", first->second.file, first->second.position.line),
            "keep one of them");
        return true;
      });
    }
    reader.binder().map(*top, "", reader.topLevel());
  }
  checkDefaultClass(out);
  return out;
}

Result<Loaded> load(const std::string& directory, bool mayBeMissing) {
  const auto list = listFolder(directory, {".yaml", ".yml"});
  if (!list) {
    if (mayBeMissing && list.error().code == Code::gone) return Loaded{};
    return tl::unexpected<Error>(list.error());
  }
  std::map<std::string, std::string> files;
  std::vector<policy::Finding> unreadable;
  for (const std::string& file : *list) {
    auto text = readFile(file, kLargestFile);
    if (text) {
      files[file] = *std::move(text);
      continue;
    }
    if (text.error().code == Code::gone && !stillThere(file)) continue;
    Error error = text.error();
    error.path.clear();  // the finding names it
    Binder(file, unreadable).bad({}, "", error.text(), "make it readable, or remove it");
  }
  Loaded out = parse(files);
  out.findings.insert(out.findings.begin(), unreadable.begin(), unreadable.end());
  return out;
}

}  // namespace memqos::config
