// `memqos-agent restore` without an agent: what the journal of the last one says is put back.
#pragma once

#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "control/writer.h"
#include "report/restore.h"

namespace memqos::control {

// Takes the lock of `runDir`, restores every file of its journal below `root`, lets go. Errors: again (an agent runs),
// denied, io (the journal cannot be read or written).
Result<std::vector<report::RestoredFile>> restoreOffline(const std::string& runDir, const cgroup::Root& root,
                                                         const std::string& bootId);

// The row of one restored file.
report::RestoredFile toRow(const Applied& applied);

}  // namespace memqos::control
