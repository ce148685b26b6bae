// What PyTorch's allocator last reported in a process that runs under vramfit: the end of its recording, which grows
// while we read it.
#ifndef VRAMFIT_PROBE_RECORDING_TAIL_H
#define VRAMFIT_PROBE_RECORDING_TAIL_H

#include <cstdint>
#include <filesystem>
#include <map>

#include "base/error.h"

namespace vramfit::probe {

struct AllocatorReading {
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  friend bool operator==(const AllocatorReading&, const AllocatorReading&) = default;
};

// The readings by the process's own device number. Reading goes back until some device is named, at most
// `most_records`: a device that has been quiet for long is left out, and has what it had when it was last there.
base::Result<std::map<int, AllocatorReading>> read_recording_tail(const std::filesystem::path& recording,
                                                                  std::int64_t most_records = 4096);

}  // namespace vramfit::probe

#endif
