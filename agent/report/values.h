// How values appear in reports: as nodes for JSON and YAML, as cells for people.
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"
#include "cgroup/files.h"
#include "document/node.h"
#include "policy/plan.h"

namespace memqos::report {

// Bytes as an integer, or "max".
document::Node limitNode(Limit limit);
// The value of a control file: flags as booleans, the others as limitNode() has them.
document::Node fileValueNode(cgroup::File file, Limit value);
// A knob's value: integer, "max", boolean, or keyword.
document::Node valueNode(const policy::KnobValue& value);

// The value of `key` for a table: sizes as "64Mi", text as it is, "yes" and "no" are not used here but "true" and
// "false"; empty where the key is absent or null. Reports read from another version's agent may lack anything.
std::string cell(const document::Node& row, std::string_view key);
// The text of `key` as written: "" where it is absent, null, a map or a list.
std::string field(const document::Node& row, std::string_view key);
// The items of the list `key`; empty where there is none.
const std::vector<document::Node>& itemsOf(const document::Node& node, std::string_view key);
// A boolean as "yes" or "no"; empty where there is none.
std::string yesNo(const document::Node& row, std::string_view key);
// About this much, with one decimal: "117.7Mi". For usage, where every byte changes all the time.
std::string about(Bytes bytes);

}  // namespace memqos::report
