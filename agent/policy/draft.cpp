#include "policy/draft.h"

#include <fmt/format.h>

#include <utility>

namespace memqos::policy {
namespace {

std::optional<Limit> wholeOf(const Draft& draft, Whole of) {
  if (of == Whole::request) return draft.basis.request;
  if (of == Whole::limit && !draft.basis.limit.isMax()) return draft.basis.limit;
  return std::nullopt;
}

}  // namespace

void Draft::move(Knob knob, Limit to, const std::string& because, std::string advice) {
  const Limit from = number(knob).value_or(Limit::max());
  if (from == to) return;
  change(knob, to,
         fmt::format("{} {} {}: {} to {}", info(knob).name, toHuman(from), because, to < from ? "lowered" : "raised",
                     toHuman(to)),
         std::move(advice));
}

void Draft::change(Knob knob, KnobValue to, std::string sentence, std::string advice) {
  KnobPlan& target = plan.at(knob);
  target.wanted = std::move(to);
  if (!target.why.empty()) target.why += "; ";
  target.why += sentence;
  changesOf(knob).sentences.push_back(std::move(sentence));
  changesOf(knob).advice = std::move(advice);
}

std::string limitText(const Basis& basis) {
  return fmt::format("{} {}", basis.limitIsNode ? "the node's allocatable memory" : "the limit", toHuman(basis.limit));
}

std::optional<KnobValue> valueOf(const Asked& asked, const std::optional<Limit>& whole, Bytes page) {
  if (const auto* limit = std::get_if<Limit>(&asked)) {
    return limit->isMax() ? *limit : Limit(limit->bytes().roundDown(page));
  }
  if (const auto* percent = std::get_if<Percent>(&asked)) {
    if (!whole) return std::nullopt;
    return Limit(percent->of(whole->bytes()).roundDown(page));
  }
  if (const auto* flag = std::get_if<bool>(&asked)) return *flag;
  return std::get<std::string>(asked);
}

void evaluate(Draft& draft, const NodeFacts& node) {
  for (const KnobInfo& knob : knobs()) {
    const Ask* ask = draft.ask(knob.knob);
    if (ask == nullptr) continue;
    const bool percent = std::holds_alternative<Percent>(ask->value);
    if (percent && knob.percentOf == Whole::limitOrHigh) continue;
    if (ask->isAuto() && knob.form == Form::quantity) continue;
    KnobPlan& plan = draft.plan.at(knob.knob);
    plan.wanted = valueOf(ask->value, wholeOf(draft, knob.percentOf), node.page);
    if (!plan.wanted) plan.why = kNoLimit;
  }
}

}  // namespace memqos::policy
