// What an allocator did on one device, one event after the other: the form in which a recording of a real card and a
// virtual run are laid side by side, whichever format they were read from.
#ifndef VRAMFIT_COMPARE_EVENT_STREAM_H
#define VRAMFIT_COMPARE_EVENT_STREAM_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/snapshot.h"

namespace vramfit::compare {

// Who asked, as far as a stack, an operator's name or the recorder tells.
struct Caller {
  std::string line;        // "train.py:12 forward"; empty: not known
  std::string package;     // the innermost frame outside PyTorch lies in site-packages/PACKAGE; empty: it does not
  bool workspace = false;  // cuDNN, cuBLAS or a function called after a workspace
};

struct Event {
  model::TraceAction action = model::TraceAction::kUnknown;
  std::uint32_t stream = 0;  // in order of first use: the handles' values differ from run to run
  std::uint32_t caller = 0;  // index into EventStream::callers
  std::int64_t size = 0;
  std::uint64_t address = 0;
};

// What the allocator asked of the driver, not the job of the allocator.
inline bool is_segment(model::TraceAction action) {
  using enum model::TraceAction;
  return action == kSegmentAlloc || action == kSegmentFree || action == kSegmentMap || action == kSegmentUnmap;
}

struct Extent {
  std::uint64_t address = 0;
  std::int64_t size = 0;
};

// Sums at one instant. `live` counts bytes as asked for, or blocks where EventStream::sizes_rounded.
struct Totals {
  std::int64_t live = 0;
  std::optional<std::int64_t> reserved;  // nothing where the format does not tell it
  std::optional<std::int64_t> segments;
  bool operator==(const Totals&) const = default;
};

struct EventStream {
  std::vector<Event> events;
  std::vector<Caller> callers{Caller()};
  std::vector<Extent> first_segments;        // there before the first event
  Totals begin;                              // before the first event
  std::vector<std::int64_t> reserved_after;  // each event, of formats that tell it so; else empty
  bool from_start = true;                    // nothing was allocated before the first event
  bool has_places = false;                   // segments are among the events, so that places can be told
  bool sizes_rounded = false;                // sizes are of blocks, not as asked for
  std::optional<model::AllocatorSettings> settings;
  // "torch/nn/modules/module.py _call_impl" -> its lines that stacks went through. Two releases hardly agree in them.
  std::map<std::string, std::set<std::int32_t>> library_lines;
};

}  // namespace vramfit::compare

#endif
