// One agent a node: who holds the lock of the run directory may write.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace memqos::control {

// Creates the run directory (0755) and takes RUNDIR/lock, waiting up to 5 s for an earlier agent's watchdog to finish.
// Errors: again (another agent runs; the sentence says so), denied, io.
Result<Fd> lockRunDir(const std::string& runDir);

}  // namespace memqos::control
