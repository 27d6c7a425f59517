#include "policy/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "policy/annotations.h"
#include "policy/basis.h"
#include "policy/dialects.h"
#include "policy/draft.h"
#include "policy/rules.h"
#include "policy/sandbox.h"

namespace memqos::policy {
namespace {

// Every source of a pod's values, each parsed once.
class Sources {
 public:
  Sources(const Pod& pod, const Settings& settings, std::vector<Finding>& findings)
      : pod_(pod), settings_(settings), findings_(findings), annotations_(readAnnotations(pod, settings, findings)) {
    if (annotations_.managed) {
      dialects_ = readDialects(pod, settings, findings);
      defaults_ =
          readTexts(settings.defaults, {Origin::Kind::configuredDefault, ""}, "defaults", pod, settings, findings);
    }
  }

  [[nodiscard]] bool managed() const { return annotations_.managed; }

  // For each knob what the first source asks that sets it. Another kind of source is one more line in layersOf().
  std::array<const Ask*, kKnobCount> choose(const std::string& container) {
    std::array<const Ask*, kKnobCount> out{};
    const auto layers = layersOf(container);
    for (const KnobInfo& knob : knobs()) {
      for (const Layer* layer : layers) {
        if (const auto found = layer->find(knob.knob); found != layer->end()) {
          out[static_cast<std::size_t>(knob.knob)] = &found->second;
          break;
        }
      }
    }
    return out;
  }

 private:
  // Highest rank first.
  std::vector<const Layer*> layersOf(const std::string& container) {
    std::vector<const Layer*> layers;
    if (const auto own = annotations_.containers.find(container); own != annotations_.containers.end()) {
      layers.push_back(&own->second);
    }
    layers.push_back(&annotations_.pod);
    std::vector<const Layer*> namers = layers;  // what may name a class: neither a class nor another agent's key
    namers.push_back(&defaults_);
    if (const auto own = dialects_.nriContainers.find(container); own != dialects_.nriContainers.end()) {
      layers.push_back(&own->second);
    }
    layers.push_back(&dialects_.nriPod);
    layers.push_back(&dialects_.koordinator);
    if (const Layer* layer = classOf(namers)) layers.push_back(layer);
    layers.push_back(&defaults_);
    return layers;
  }

  const Layer* classOf(const std::vector<const Layer*>& namers) {
    for (const Layer* layer : namers) {
      if (const auto found = layer->find(Knob::klass); found != layer->end()) return &classLayer(found->second.text);
    }
    return nullptr;
  }

  const Layer& classLayer(const std::string& name) {
    if (const auto known = classes_.find(name); known != classes_.end()) return known->second;
    KnobTexts texts = settings_.classes.at(name);  // readers dropped names of classes that do not exist
    texts.texts.erase(Knob::klass);                // a class is not made of classes
    Layer layer = readTexts(texts, {Origin::Kind::klass, name}, "classes." + name, pod_, settings_, findings_);
    return classes_.emplace(name, std::move(layer)).first->second;
  }

  const Pod& pod_;
  const Settings& settings_;
  std::vector<Finding>& findings_;
  Annotations annotations_;
  Dialects dialects_;
  Layer defaults_;
  std::map<std::string, Layer> classes_;
};

// Who set what stands in the file, where nothing asks: a value beside the kernel's default is the kubelet's, if there
// is one.
Origin originOfFound(Knob knob, const ContainerFacts& facts, bool standalone) {
  struct Row {
    Knob knob;
    std::optional<Limit> ContainerFacts::*found;
    Limit kernelDefault;
  };
  static constexpr std::array<Row, 5> kRows = {{
      {Knob::memoryMin, &ContainerFacts::foundMin, Limit()},
      {Knob::memoryLow, &ContainerFacts::foundLow, Limit()},
      {Knob::memoryHigh, &ContainerFacts::foundHigh, Limit::max()},
      {Knob::swapMax, &ContainerFacts::foundSwapMax, Limit::max()},
      {Knob::zswapMax, &ContainerFacts::foundZswapMax, Limit::max()},
  }};
  for (const Row& row : kRows) {
    if (row.knob != knob || !(facts.*row.found)) continue;
    const bool untouched = *(facts.*row.found) == row.kernelDefault;
    return {untouched || standalone ? Origin::Kind::baseline : Origin::Kind::kubelet, ""};
  }
  return {};
}

Draft draftOf(const Container& container, const Basis& basis, const PodFacts& facts, const Settings& settings,
              const std::array<const Ask*, kKnobCount>& asks) {
  Draft draft;
  draft.spec = &container;
  draft.basis = basis;
  if (const auto found = facts.containers.find(container.name); found != facts.containers.end()) {
    draft.facts = found->second;
  }
  draft.plan.name = container.name;
  draft.plan.kind = container.kind;
  draft.plan.limit = basis.limit;
  draft.plan.limitIsNode = basis.limitIsNode;
  draft.plan.request = basis.request;
  draft.asks = asks;
  for (const KnobInfo& knob : knobs()) {
    KnobPlan& plan = draft.plan.at(knob.knob);
    const Ask* ask = draft.ask(knob.knob);
    if (ask != nullptr) plan.asked = ask->text;
    plan.origin = ask != nullptr ? ask->origin : originOfFound(knob.knob, draft.facts, settings.cgroupKeysAllowed);
  }
  return draft;
}

Finding findingOf(Reason reason, const Pod& pod, const std::string& container, const Ask& ask) {
  Finding out;
  out.reason = reason;
  out.nameSpace = pod.nameSpace;
  out.pod = pod.name;
  out.uid = pod.uid;
  out.container = container;
  out.key = kept(ask.key);
  out.value = kept(ask.text);
  out.source = ask.source;
  return out;
}

void reportChanges(const Pod& pod, const Draft& draft, std::vector<Finding>& findings) {
  for (const KnobInfo& knob : knobs()) {
    const Ask* ask = draft.ask(knob.knob);
    const Draft::Changes& changes = draft.changes[static_cast<std::size_t>(knob.knob)];
    const bool silent = ask == nullptr || (knob.knob == Knob::memoryHigh && ask->isAuto());
    if (silent || changes.sentences.empty()) continue;
    Finding finding = findingOf(Reason::adjustedValue, pod, draft.plan.name, *ask);
    finding.problem = fmt::format("{}", fmt::join(changes.sentences, "; "));
    finding.advice = changes.advice;
    findings.push_back(std::move(finding));
  }
}

// Each key once, however many containers it is for.
void reportDropped(const Pod& pod, const Draft& draft, std::vector<Finding>& findings) {
  for (const KnobInfo& knob : knobs()) {
    const Ask* ask = draft.ask(knob.knob);
    const KnobPlan& plan = draft.plan.at(knob.knob);
    if (ask == nullptr || knob.level != Level::engine || plan.why.empty() || plan.wanted) continue;
    Finding finding = findingOf(Reason::unsupported, pod, "", *ask);
    finding.problem = fmt::format("{} {}", knob.name, plan.why);
    finding.advice = "remove the annotation, or use another RuntimeClass";
    if (std::find(findings.begin(), findings.end(), finding) == findings.end()) findings.push_back(std::move(finding));
  }
}

}  // namespace

PodPlan plan(const Pod& pod, const PodFacts& facts, const NodeFacts& given, const Settings& settings) {
  PodPlan out;
  out.nameSpace = pod.nameSpace;
  out.name = pod.name;
  out.uid = pod.uid;
  Sources sources(pod, settings, out.findings);
  out.managed = sources.managed();
  if (!out.managed) return out;
  out.sandboxed = runsInSandbox(pod, settings);

  NodeFacts node = given;
  if (node.page.count <= 0) node.page = kPage;
  const std::vector<Basis> bases = basesOf(pod, facts, node);
  std::vector<Draft> drafts;
  drafts.reserve(pod.containers.size());
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Container& container = pod.containers[i];
    drafts.push_back(draftOf(container, bases[i], facts, settings, sources.choose(container.name)));
    evaluate(drafts.back(), node);
  }

  settleProtection(drafts, podLimitOf(pod, facts, node), node.page);
  const QosClass qos = qosOf(pod);
  for (Draft& draft : drafts) {
    settleHigh(draft, qos, settings, node.page);
    applyGuardrails(draft, settings.guardrails);
    settleEngines(draft, node.page);
    reportChanges(pod, draft, out.findings);
    if (out.sandboxed) {
      dropEngines(pod, draft.plan);
      reportDropped(pod, draft, out.findings);
    }
    out.containers.push_back(std::move(draft.plan));
  }
  return out;
}

std::optional<Limit> ContainerPlan::wantedLimit(Knob knob) const {
  const auto& wanted = at(knob).wanted;
  if (!wanted) return std::nullopt;
  if (const auto* number = std::get_if<Limit>(&*wanted)) return *number;
  if (const auto* flag = std::get_if<bool>(&*wanted)) return Limit(Bytes{*flag ? 1 : 0});
  return std::nullopt;
}

std::string_view ContainerPlan::word(Knob knob) const {
  const auto& wanted = at(knob).wanted;
  if (!wanted) return info(knob).builtinDefault;
  const auto* text = std::get_if<std::string>(&*wanted);
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

bool PodPlan::empty() const {
  return std::none_of(containers.begin(), containers.end(), [](const ContainerPlan& container) {
    return std::any_of(knobs().begin(), knobs().end(), [&](const KnobInfo& knob) {
      return knob.acts && container.at(knob.knob).wanted && container.word(knob.knob) != "off";
    });
  });
}

std::string toText(const KnobValue& value) {
  if (const auto* limit = std::get_if<Limit>(&value)) return toText(*limit);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

std::string toText(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::annotation:
    case Origin::Kind::dialect:
      return "annotation " + origin.name;
    case Origin::Kind::policy:
      return "policy " + origin.name;
    case Origin::Kind::klass:
      return "class " + origin.name;
    case Origin::Kind::configuredDefault:
      return "default";
    case Origin::Kind::kubelet:
      return "kubelet";
    case Origin::Kind::baseline:
      return "baseline";
    case Origin::Kind::none:
      return "none";
  }
  return "none";
}

}  // namespace memqos::policy
