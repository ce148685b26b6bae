// Where samples come from: this machine, or a recording of one.
#ifndef VRAMFIT_WATCH_SOURCE_H
#define VRAMFIT_WATCH_SOURCE_H

#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "model/machine.h"

namespace vramfit::watch {

class MachineSource {
 public:
  virtual ~MachineSource() = default;
  // The next sample; nothing at the end of a recording.
  virtual base::Result<std::optional<model::MachineSample>> next() = 0;
};

struct LiveOptions {
  std::int64_t interval_ns = 1'000'000'000;
  bool sessions = true;  // virtual cards of running sessions too
};

// The machine's own NVML; under VRAMFIT_LEDGER the stand-in that shows that session's cards, and no other session's.
std::unique_ptr<MachineSource> open_machine(const LiveOptions& options);

}  // namespace vramfit::watch

#endif
