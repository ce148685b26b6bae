// Which event of a virtual run stands for which event of a recording.
//
//   recording              a b c d   e f g        began late, and lost nothing
//   virtual run    s s s s a b c d x f e g t t
//                  before  |         |   |  after
//                          same   extra  e: changed places with f
#ifndef VRAMFIT_COMPARE_ALIGNMENT_H
#define VRAMFIT_COMPARE_ALIGNMENT_H

#include <cstddef>
#include <vector>

#include "compare/event_stream.h"

namespace vramfit::compare {

inline constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

// Neighbouring calls that have no partner in order, with segments that came between; either side may be empty.
struct Hunk {
  std::size_t recorded_begin = 0, recorded_end = 0;
  std::size_t virtual_begin = 0, virtual_end = 0;
  bool operator==(const Hunk&) const = default;
};

struct Alignment {
  std::size_t virtual_begin = 0, virtual_end = 0;  // the part of the virtual run that the recording covers
  std::vector<std::size_t> partner;                // of each recorded call: index into the virtual run, or kNobody
  std::vector<bool> is_moved;                      // of each recorded event: its partner comes earlier or later
  std::vector<bool> is_taken;                      // of each virtual event: it is such a partner
  std::vector<Hunk> hunks;
  std::size_t recorded_calls = 0, virtual_calls = 0;  // of the part that the recording covers
  std::size_t same = 0;                               // in order
  std::size_t moved = 0;                              // the same event, not far away
  std::size_t only_recorded = 0;                      // neither
  std::size_t only_virtual = 0;
  bool is_equal() const { return hunks.empty(); }
};

// Calls of the job to the allocator, by action, size and stream. Seconds for half a million events.
Alignment align(const EventStream& recorded, const EventStream& virtual_run);

}  // namespace vramfit::compare

#endif
