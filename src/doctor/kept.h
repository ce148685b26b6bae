// The live blocks of one stack that have come to stay: one line of a script may make both what each step frees again
// and what is kept of it, of the same size too.
#ifndef VRAMFIT_DOCTOR_KEPT_H
#define VRAMFIT_DOCTOR_KEPT_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace vramfit::doctor {

struct LiveBlock {
  std::size_t born = 0;  // its entry in the trace
  std::int64_t size = 0;
};

struct Change {
  std::size_t at = 0;
  std::int64_t bytes = 0;  // below 0: freed
};

// What the trace shows of one stack.
struct SiteHistory {
  std::int64_t freed = 0;
  std::map<std::int64_t, std::int64_t> freed_by_size;
  std::vector<Change> changes;
};

struct TraceSpan {
  std::size_t length = 0;
  std::int64_t steps = 0;           // periods that it shows; 0: not known
  std::vector<Change> freed_older;  // of blocks from before it: which stack made them nobody knows
};

struct Kept {
  std::vector<std::size_t> births;  // sorted
  base::Bytes bytes;
  bool rises = false;  // by the least that lives at a time, not by sizes that are hardly ever freed
};

Kept find_kept(std::span<const LiveBlock> live, const SiteHistory& history, const TraceSpan& trace);

}  // namespace vramfit::doctor

#endif
