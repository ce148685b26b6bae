// Where samples come from: this machine, or a recording of one.
#ifndef VRAMFIT_WATCH_SOURCE_H
#define VRAMFIT_WATCH_SOURCE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "model/machine.h"

namespace vramfit::watch {

// The parts of a recording that could not be read.
struct LostSamples {
  std::int64_t about = 0;          // samples
  std::int64_t damaged_bytes = 0;  // that nothing could be made of
  bool at_the_end = false;         // the recording breaks off: nobody knows how much longer it was
  bool is_without_end = false;     // whole as far as it goes, and not closed: cut between two samples, or killed
  bool is_any() const { return damaged_bytes > 0 || about > 0 || is_without_end; }
};
// A text for people; empty where nothing is lost.
std::string to_string(const LostSamples& lost);

class MachineSource {
 public:
  virtual ~MachineSource() = default;
  // The next sample; nothing at the end of a recording.
  virtual base::Result<std::optional<model::MachineSample>> next() = 0;
  // The samples lost of those read up to now.
  virtual LostSamples lost() const { return {}; }
};

struct LiveOptions {
  std::int64_t interval_ns = 1'000'000'000;
  bool sessions = true;  // virtual cards of running sessions too
};

// The machine's own NVML; under VRAMFIT_LEDGER the stand-in that shows that session's cards, and no other session's.
std::unique_ptr<MachineSource> open_machine(const LiveOptions& options);

}  // namespace vramfit::watch

#endif
