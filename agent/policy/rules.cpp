#include "policy/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace memqos::policy {
namespace {

// A limit this close above the smallest high leaves no room for a useful throttle point.
constexpr Bytes kRoomAboveSmallestHigh = mebibytes(8);

// What counts as set: what the plan wants, else what the kubelet or somebody else wrote. `found` says which.
struct Standing {
  std::optional<Limit> value;
  bool found = false;
};
Standing standing(const Draft& draft, Knob knob, const std::optional<Limit>& found) {
  if (const auto wanted = draft.number(knob)) return {wanted, false};
  return {found, found.has_value()};
}

std::string standingText(Knob knob, const Standing& is) {
  if (!is.found) return fmt::format("{} {}", info(knob).name, toHuman(*is.value));
  return fmt::format("the {} {} that was set before memqos", info(knob).file, toHuman(*is.value));
}

void capByRequest(Draft& draft, Knob knob, Bytes page) {
  const auto wanted = draft.number(knob);
  if (!wanted) return;
  const Bytes request = draft.basis.request;
  const Percent* percent = std::get_if<Percent>(&draft.ask(knob)->value);
  if (request.count == 0 && percent != nullptr && percent->billionths > 0) {
    draft.change(knob, Limit(), fmt::format("{} of no memory request is 0", draft.ask(knob)->text),
                 "give the container a memory request");
    return;
  }
  if (*wanted <= Limit(request)) return;
  if (request.count == 0) {
    draft.move(knob, Limit(), "needs a memory request, and the container has none",
               "give the container a memory request");
    return;
  }
  draft.move(knob, request.roundDown(page), fmt::format("is above the memory request {}", toHuman(request)),
             "raise the container's memory request, or ask for less");
}

std::string roomText(const std::string& limit) {
  return fmt::format("leaves too little of {} for cache to be reclaimed (32Mi, or 10% if that is more)", limit);
}
constexpr const char* kRoomAdvice = "raise the memory limit, or ask for less";

void capByLimit(Draft& draft, Bytes page) {
  const auto wanted = draft.number(Knob::memoryMin);
  const Limit most = mostMin(draft.basis.limit);
  if (!wanted || *wanted <= most) return;
  draft.move(Knob::memoryMin, most.bytes().roundDown(page), roomText(limitText(draft.basis)), kRoomAdvice);
}

Bytes minOf(const Draft& draft) {
  return draft.number(Knob::memoryMin).value_or(Limit()).bytes();
}

// These run at the same time: their mins fit together into `most`.
void scaleMins(const std::vector<Draft*>& group, Limit most, Limit podLimit, Bytes page) {
  Bytes sum;
  for (const Draft* draft : group) sum += minOf(*draft);
  if (Limit(sum) <= most || most.isMax()) return;
  for (Draft* draft : group) {
    if (!draft->number(Knob::memoryMin)) continue;
    const Bytes share = scale(minOf(*draft), most.bytes().count, sum.count).roundDown(page);
    draft->move(Knob::memoryMin, share,
                fmt::format("is part of {} for the whole pod, which {}", toHuman(sum),
                            roomText("the pod's limit " + toHuman(podLimit))),
                kRoomAdvice);
  }
}

void fitIntoPod(std::vector<Draft>& drafts, Limit podLimit, Bytes page) {
  std::vector<Draft*> lasting;
  for (Draft& draft : drafts) {
    if (draft.plan.kind != ContainerKind::init) lasting.push_back(&draft);
  }
  const Limit most = mostMin(podLimit);
  scaleMins(lasting, most, podLimit, page);
  if (most.isMax()) return;
  // An init container runs before the others, beside sidecars at most.
  Bytes sidecars;
  for (const Draft& draft : drafts) {
    if (draft.plan.kind == ContainerKind::sidecar) sidecars += minOf(draft);
  }
  const Limit left = std::max(most.bytes() - sidecars, Bytes{});
  for (Draft& draft : drafts) {
    if (draft.plan.kind == ContainerKind::init) scaleMins({&draft}, left, podLimit, page);
  }
}

void raiseLow(Draft& draft) {
  const auto low = draft.number(Knob::memoryLow);
  const Standing min = standing(draft, Knob::memoryMin, draft.facts.foundMin);
  if (!low || !min.value || *low >= *min.value) return;
  draft.move(Knob::memoryLow, *min.value, "is under " + standingText(Knob::memoryMin, min),
             "ask for a memory-low that is not under memory-min");
}

// KEP-2570: floor((request + factor * (limit - request)) / page) * page.
Bytes kepHigh(const Basis& basis, std::int64_t permille, Bytes page) {
  const Bytes gap = basis.limit.bytes() - basis.request;
  return std::max(basis.request + scale(gap, permille, 1000), Bytes{}).roundDown(page);
}

void setAuto(Draft& draft, QosClass qos, const Settings& settings, Bytes page) {
  KnobPlan& plan = draft.plan.at(Knob::memoryHigh);
  const Ask& ask = *draft.ask(Knob::memoryHigh);
  if (qos == QosClass::guaranteed) {
    plan.wanted = Limit::max();
    plan.why = ask.text + " is max in a Guaranteed pod";
    return;
  }
  if (draft.basis.limit.isMax()) {
    plan.why = kNoLimit;
    return;
  }
  const std::int64_t permille = ask.factorPermille.value_or(settings.throttlingFactorPermille);
  const Bytes high = kepHigh(draft.basis, permille, page);
  const Standing min = standing(draft, Knob::memoryMin, draft.facts.foundMin);
  if (min.value && Limit(high) <= *min.value) {
    plan.wanted = Limit::max();
    plan.why = fmt::format("{} is max because {} is not above {}", ask.text, toHuman(high),
                           standingText(Knob::memoryMin, min));
    return;
  }
  plan.wanted = Limit(high);
  plan.why = fmt::format("{}: request {} + {} x what is between it and {}", ask.text, toHuman(draft.basis.request),
                         static_cast<double>(permille) / 1000, limitText(draft.basis));
}

void raiseHigh(Draft& draft) {
  const Standing min = standing(draft, Knob::memoryMin, draft.facts.foundMin);
  const Standing low = standing(draft, Knob::memoryLow, draft.facts.foundLow);
  const bool lowIsLarger = low.value && (!min.value || *low.value > *min.value);
  const Standing& larger = lowIsLarger ? low : min;
  if (!larger.value || *draft.number(Knob::memoryHigh) >= *larger.value) return;
  draft.move(Knob::memoryHigh, *larger.value,
             "is under " + standingText(lowIsLarger ? Knob::memoryLow : Knob::memoryMin, larger),
             "ask for a memory-high above what is protected");
}

void keepHighUseful(Draft& draft, Bytes smallest) {
  const Limit limit = draft.basis.limit;
  const Limit high = *draft.number(Knob::memoryHigh);
  if (!limit.isMax() && high >= limit) {
    draft.move(Knob::memoryHigh, Limit::max(), "is not under " + limitText(draft.basis),
               "ask for a memory-high under the limit, or remove it");
    return;
  }
  if (high >= Limit(smallest)) return;
  const std::string because = fmt::format("is under the smallest that does not stall, {}", toHuman(smallest));
  if (limit <= Limit(smallest + kRoomAboveSmallestHigh)) {
    draft.move(Knob::memoryHigh, Limit::max(), because + ", which is too close to " + limitText(draft.basis),
               "remove memory-high, or raise the memory limit");
  } else {
    draft.move(Knob::memoryHigh, smallest, because, fmt::format("ask for {} or more", toHuman(smallest)));
  }
}

void lowerToFound(Draft& draft, Knob knob, const std::optional<Limit>& found) {
  const auto wanted = draft.number(knob);
  if (!wanted || !found || *wanted <= *found) return;
  draft.move(knob, *found, fmt::format("is above {}, which was set before memqos", toHuman(*found)),
             "ask for less; only the operator can allow more (guardrails.swapMayRaise)");
}

// What `order.knob` may not pass; nullopt: nothing.
std::optional<Limit> boundOf(const Draft& draft, const Order& order) {
  if (!order.bound) return draft.basis.limit;
  if (*order.bound == Knob::memoryHigh) return standing(draft, Knob::memoryHigh, draft.facts.foundHigh).value;
  return draft.number(*order.bound);
}

void settle(Draft& draft, const Order& order, Bytes page) {
  const auto wanted = draft.number(order.knob);
  const auto bound = boundOf(draft, order);
  if (!wanted || !bound || bound->isMax()) return;
  const bool crosses = order.below ? *wanted >= *bound : *wanted > *bound;
  if (!crosses) return;
  Bytes most = bound->bytes().roundDown(page);
  if (order.below && Limit(most) == *bound) most = std::max(most - page, Bytes{});
  const std::string name =
      order.bound ? fmt::format("{} {}", info(*order.bound).name, toHuman(*bound)) : limitText(draft.basis);
  draft.move(order.knob, most, (order.below ? "is not under " : "is above ") + name,
             fmt::format("ask for {} or less", toHuman(most)));
}

void takePercentOfHigh(Draft& draft, Bytes page) {
  const auto high = standing(draft, Knob::memoryHigh, draft.facts.foundHigh).value.value_or(Limit::max());
  const Limit whole = std::min(draft.basis.limit, high);
  for (const KnobInfo& knob : knobs()) {
    const Ask* ask = draft.ask(knob.knob);
    if (knob.percentOf != Whole::limitOrHigh || ask == nullptr || !std::holds_alternative<Percent>(ask->value))
      continue;
    KnobPlan& plan = draft.plan.at(knob.knob);
    plan.wanted = valueOf(ask->value, whole.isMax() ? std::optional<Limit>() : whole, page);
    if (!plan.wanted) plan.why = kNoLimit;
  }
}

bool isOn(const Draft& draft, Knob knob) {
  const std::string_view word = draft.plan.word(knob);
  return draft.number(knob).has_value() || (!word.empty() && word != "off");
}

}  // namespace

void settleProtection(std::vector<Draft>& drafts, Limit podLimit, Bytes page) {
  for (Draft& draft : drafts) {
    capByRequest(draft, Knob::memoryMin, page);
    capByRequest(draft, Knob::memoryLow, page);
    capByLimit(draft, page);
  }
  fitIntoPod(drafts, podLimit, page);
  for (Draft& draft : drafts) raiseLow(draft);
}

void settleHigh(Draft& draft, QosClass qos, const Settings& settings, Bytes page) {
  const Ask* ask = draft.ask(Knob::memoryHigh);
  if (ask == nullptr) return;
  if (ask->isAuto()) setAuto(draft, qos, settings, page);
  const auto high = draft.number(Knob::memoryHigh);
  if (!high || high->isMax()) return;
  raiseHigh(draft);
  if (draft.number(Knob::memoryHigh)->isMax()) return;
  keepHighUseful(draft, settings.guardrails.smallestHigh.roundUp(page));
}

void applyGuardrails(Draft& draft, const Guardrails& guardrails) {
  if (!guardrails.swapMayRaise) {
    lowerToFound(draft, Knob::swapMax, draft.facts.foundSwapMax);
    lowerToFound(draft, Knob::zswapMax, draft.facts.foundZswapMax);
  }
  if (!guardrails.freezeAllowed && draft.plan.word(Knob::dirtyThrottle) == "freeze") {
    draft.change(Knob::dirtyThrottle, std::string("auto"),
                 "dirty-throttle freeze is not allowed on this node: auto instead",
                 "write auto or squeeze; only the operator can allow freeze (guardrails.freezeAllowed)");
  }
}

void settleEngines(Draft& draft, Bytes page) {
  takePercentOfHigh(draft, page);
  for (const Order& order : orders()) settle(draft, order, page);

  KnobPlan& background = draft.plan.at(Knob::dirtyBackground);
  const auto dirtyLimit = draft.number(Knob::dirtyLimit);
  if (draft.ask(Knob::dirtyBackground) == nullptr && dirtyLimit) {
    background.wanted = Limit(scale(dirtyLimit->bytes(), 1, 2).roundDown(page));
    background.origin.kind = Origin::Kind::configuredDefault;
    background.why = "half of dirty-limit";
  }
  for (const KnobInfo& knob : knobs()) {
    KnobPlan& plan = draft.plan.at(knob.knob);
    if (!plan.wanted || !knob.partOf || isOn(draft, *knob.partOf)) continue;
    if (!plan.why.empty()) plan.why += "; ";
    plan.why += fmt::format("no effect without {}", info(*knob.partOf).name);
  }
}

}  // namespace memqos::policy
