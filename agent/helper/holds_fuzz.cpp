// Packets as the watchdog gets them over its socket, onto files that play control files.
#include "helper/holds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "testing/fuzz.h"

namespace {

const std::array<int, 2> kFiles = {::memfd_create("a", MFD_CLOEXEC), ::memfd_create("b", MFD_CLOEXEC)};

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 2;  // of a clock

// Each descriptor that a packet brings is closed by the table, whatever becomes of the packet.
int openFile(std::uint64_t cgroup) {
  return ::dup(kFiles[cgroup % kFiles.size()]);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memqos;
  using testing::require;
  std::array<helper::Hold, 4> table;
  const int lowestFree = ::dup(0);
  ::close(lowestFree);
  {
    helper::Holds holds(table);
    for (watchdog::Request request; size >= sizeof(request); data += sizeof(request), size -= sizeof(request)) {
      std::memcpy(&request, data, sizeof(request));
      if (request.kind == watchdog::Kind::release) {
        holds.release(request.cgroup, request.file);
      } else {
        const std::size_t before = holds.size();
        const int error = holds.hold(request, openFile(request.cgroup));
        require(error == 0 || holds.size() == before, "a refused hold leaves nothing");
      }
      require(holds.size() <= table.size(), "the table is all the room there is");
      const std::int64_t now = std::min(request.undoAt, kLatest);
      holds.undoDue(now);
      require(holds.nextUndo() == 0 || holds.nextUndo() > now, "what was due is done, or put off");
    }
    holds.undoAll(1);
  }
  const int free = ::dup(0);
  ::close(free);
  require(free == lowestFree, "no descriptor is left open");
  return 0;
}
