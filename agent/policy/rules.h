// The rules that settle values which contradict each other, in the order in which plan() applies them.
#pragma once

#include <vector>

#include "policy/draft.h"

namespace memqos::policy {

// memory-min and memory-low of all containers: at most the request; min with room below the limit, the pod's mins
// together too; low not under min.
void settleProtection(std::vector<Draft>& drafts, Limit podLimit, Bytes page);

// memory-high: `auto`, not under min and low, `max` from the limit on, not under the smallest high.
void settleHigh(Draft& draft, QosClass qos, const Settings& settings, Bytes page);

// Operator guardrails for swap, zswap and freezing.
void applyGuardrails(Draft& draft, const Guardrails& guardrails);

// Percentages of memory-high, the orders between knobs, defaults that follow another knob.
void settleEngines(Draft& draft, Bytes page);

}  // namespace memqos::policy
