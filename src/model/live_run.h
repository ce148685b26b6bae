// The memory of a run that is still going: what its virtual cards hold now, and held since somebody began to look.
#ifndef VRAMFIT_MODEL_LIVE_RUN_H
#define VRAMFIT_MODEL_LIVE_RUN_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

struct LivePoint {
  std::int64_t at_ms = 0;                          // since 1970, UTC
  base::Bytes used;                                // of the card: all processes, contexts included
  std::optional<base::Bytes> allocated, reserved;  // PyTorch's own, of all processes; nothing before they tell any
  friend bool operator==(const LivePoint&, const LivePoint&) = default;
};

// A virtual card of one session. `fit` and `sweep` make a session for each thing they try.
struct LiveCard {
  std::string session;  // "12345-89abcdef"
  int index = 0;
  std::string name;
  base::Bytes total, used, peak;  // the peak is exact: the card itself keeps it
  bool is_alive = true;           // false: the session has ended
  std::vector<LivePoint> points;  // in order of time
};

}  // namespace vramfit::model

#endif
