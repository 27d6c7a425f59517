// The rows of `check`: what is wrong with manifests and configuration.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "document/node.h"
#include "policy/finding.h"

namespace memqos::report {

std::string_view name(policy::Severity severity);  // "error", "warning"

// What a person reads of a finding: `KEY "VALUE": PROBLEM; ADVICE`, each part only where there is one.
std::string sentence(const policy::Finding& finding);

// One finding as scripts see it: file, line, column, kind, namespace, pod, container, key, value, severity, reason,
// problem, advice.
document::Node findingNode(const policy::Finding& finding);
// {"pods": N, "findings": [...]}
document::Node checkNode(std::size_t pods, std::span<const policy::Finding> findings);

// "FILE:LINE:COLUMN: error: KEY "VALUE": PROBLEM; ADVICE (NAMESPACE/POD, container C)" of a findingNode(), without
// newline.
std::string findingLine(const document::Node& finding);
// One line per finding, and "N pods, N errors, N warnings".
std::string checkText(const document::Node& body);

std::size_t countErrors(std::span<const policy::Finding> findings);

}  // namespace memqos::report
