#include "policy/annotations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <utility>

#include "policy/complaints.h"
#include "policy/keys.h"
#include "policy/suggest.h"

namespace memqos::policy {
namespace {

constexpr std::size_t kMostCandidates = 64;

// A class that the configuration does not have; nullopt: it has it, or it is another knob.
std::optional<BadText> missingClass(Knob knob, std::string_view text, const Settings& settings) {
  if (knob != Knob::klass || settings.classes.contains(std::string(text))) return std::nullopt;
  std::vector<std::string_view> names;
  for (const auto& [name, texts] : settings.classes) {
    if (names.size() < kMostCandidates) names.push_back(name);
  }
  return BadText{fmt::format("the agent's configuration has no class {}", inQuotes(text)),
                 names.empty() ? "remove it, or add the class to the configuration" : didYouMean(text, names)};
}

class Reader {
 public:
  Reader(const Pod& pod, const Settings& settings, std::vector<Finding>& findings)
      : pod_(pod), settings_(settings), complaints_(pod, findings) {
    for (const Container& container : pod.containers) names_.insert(container.name);
  }

  Annotations read() {
    for (const Annotation& annotation : pod_.annotations) {
      if (annotation.key == kManagedKey) readManaged(annotation);
    }
    if (!out_.managed) return std::move(out_);
    for (const Annotation& annotation : pod_.annotations) readOne(annotation);
    complaints_.close();
    return std::move(out_);
  }

 private:
  void readManaged(const Annotation& annotation) {
    out_.managed = annotation.value != "false";
    if (annotation.value == "true" || annotation.value == "false") return;
    report(annotation, "",
           {fmt::format("{} is neither true nor false", inQuotes(annotation.value)),
            "write true or false; the pod is managed until it says false"});
  }

  void readOne(const Annotation& annotation) {
    const Key key = parseKey(annotation.key);
    switch (key.kind) {
      case Key::Kind::foreign:
        return;
      case Key::Kind::stray:
        return report(annotation, "", {"the key is none of memqos", "write " + key.advice});
      case Key::Kind::pod:
        if (key.word == kManaged) return;
        break;
      case Key::Kind::container:
        if (!names_.contains(key.container)) return reportContainer(annotation, key);
        if (key.word == kManaged) {
          return report(annotation, key.container,
                        {"a pod can only be opted out as a whole", fmt::format("write {}", kManagedKey)});
        }
        break;
    }
    if (key.word == kCgroup) return readCgroup(annotation, key);
    if (const auto knob = findKnob(key.word)) return readKnob(annotation, key, *knob);
    if (!mayAdd()) return;
    std::optional<std::string> meant = misplaced(key.word);
    const auto near = suggestWord(key.word);
    if (!meant && near) meant = key.container.empty() ? podKey(*near) : containerKey(*near, key.container);
    add(annotation, key.container,
        {fmt::format("memqos has no knob {}", inQuotes(key.word)),
         meant ? fmt::format("did you mean {}?", *meant) : fmt::format("the knobs are {}", fmt::join(words(), ", "))});
  }

  // `memqos.io/memory-min.app` and `memqos.io/app.memory-min`: the container stands on the wrong side of the slash.
  [[nodiscard]] std::optional<std::string> misplaced(std::string_view word) const {
    const auto dot = word.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view left = word.substr(0, dot);
    const std::string_view right = word.substr(dot + 1);
    if (findKnob(left) && names_.contains(right)) return containerKey(left, right);
    if (findKnob(right) && names_.contains(left)) return containerKey(right, left);
    return std::nullopt;
  }

  void readCgroup(const Annotation& annotation, const Key& key) {
    if (!settings_.cgroupKeysAllowed) {
      report(annotation, key.container,
             {"a cgroup may only be named in the manifests of a standalone agent (--pods)",
              "remove it; in a cluster the kubelet's cgroup is found by itself"});
    } else if (annotation.value.empty()) {
      report(annotation, key.container, {"the value is empty", "write the path of a cgroup below the cgroup mount"});
    }
  }

  void readKnob(const Annotation& annotation, const Key& key, Knob knob) {
    if (auto bad = forbidden(knob, pod_, settings_)) return report(annotation, key.container, *bad);
    auto value = checkText(knob, annotation.value);
    if (!value) return report(annotation, key.container, value.error());
    if (auto missing = missingClass(knob, annotation.value, settings_))
      return report(annotation, key.container, *missing);
    Layer& layer = key.container.empty() ? out_.pod : out_.containers[std::string(key.container)];
    layer.insert_or_assign(knob, Ask{std::move(*value),
                                     annotation.value,
                                     {Origin::Kind::annotation, annotation.key},
                                     annotation.key,
                                     sourceOf(pod_, annotation)});
  }

  void reportContainer(const Annotation& annotation, const Key& key) {
    if (!mayAdd()) return;
    BadText text = noSuchContainer(names_, key.container);
    if (findKnob(key.container) && names_.contains(key.word)) {  // app.memqos.io/memory-min
      text.advice = fmt::format("did you mean {}?", containerKey(key.container, key.word));
    }
    add(annotation, "", std::move(text));
  }

  void report(const Annotation& annotation, std::string_view container, BadText text) {
    complaints_.report(annotation, container, std::move(text));
  }
  bool mayAdd() { return complaints_.mayAdd(); }
  void add(const Annotation& annotation, std::string_view container, BadText text) {
    complaints_.add(annotation, container, std::move(text));
  }

  const Pod& pod_;
  const Settings& settings_;
  Complaints complaints_;
  std::set<std::string_view> names_;
  Annotations out_;
};

}  // namespace

std::optional<BadText> forbidden(Knob knob, const Pod& pod, const Settings& settings) {
  const auto& allowed = settings.guardrails.knobsByNamespace;
  if (!allowed) return std::nullopt;
  const auto row = allowed->find(pod.nameSpace);
  if (row == allowed->end() || row->second.contains(knob)) return std::nullopt;
  return BadText{fmt::format("pods of namespace {} may not use {}", inQuotes(pod.nameSpace), info(knob).name),
                 "remove it, or ask the operator to add it to guardrails.knobsByNamespace"};
}

Annotations readAnnotations(const Pod& pod, const Settings& settings, std::vector<Finding>& findings) {
  return Reader(pod, settings, findings).read();
}

Layer readTexts(const KnobTexts& texts, const Origin& origin, const std::string& path, const Pod& pod,
                const Settings& settings, std::vector<Finding>& findings) {
  Layer out;
  for (const auto& [knob, text] : texts.texts) {
    Source source = pod.source;
    source.file = text.file;
    source.position = text.position;
    const std::string key = fmt::format("{}.{}", path, info(knob).camelName);
    auto value = checkText(knob, text.value);
    std::optional<BadText> wrong;
    if (!value) wrong = value.error();
    if (!wrong) wrong = missingClass(knob, text.value, settings);
    if (wrong) {
      findings.push_back(findingOf(pod, Reason::invalidConfiguration, key, text.value, *wrong));
      findings.back().source = source;
      continue;
    }
    out.insert_or_assign(knob, Ask{std::move(*value), text.value, origin, key, source});
  }
  return out;
}

CgroupKeys cgroupKeys(const Pod& pod) {
  CgroupKeys out;
  for (const Annotation& annotation : pod.annotations) {
    const Key key = parseKey(annotation.key);
    if (key.word != kCgroup) continue;
    if (key.kind == Key::Kind::pod) out.pod = annotation;
    if (key.kind == Key::Kind::container) out.containers.insert_or_assign(std::string(key.container), annotation);
  }
  return out;
}

}  // namespace memqos::policy
