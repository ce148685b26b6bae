// What one memory snapshot says of its fullest device: sums, the largest hole, the failed request, call sites whose
// blocks pile up.
#ifndef VRAMFIT_DOCTOR_SNAPSHOT_FACTS_H
#define VRAMFIT_DOCTOR_SNAPSHOT_FACTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/snapshot.h"

namespace vramfit::doctor {

using base::Bytes;

// Live blocks of one stack.
struct CallSite {
  model::StackId stack = model::StackId::kNone;
  std::string line;     // the script's own frame, "train.py:40 in train", or the innermost
  bool is_own = false;  // the line is the script's, and no package's
  std::string words;    // all frames, lower case, for looking for names
  std::int64_t blocks = 0;
  Bytes bytes;
  std::int64_t freed = 0;     // blocks of this stack that the trace saw freed
  double spread = 0;          // of the trace that lies between its first and its last live block: 0 to 1
  std::int64_t in_trace = 0;  // live blocks whose allocation the trace has
  Bytes largest;
  std::int64_t kept = 0;  // of those, what has come to stay (doctor/kept.h)
  Bytes kept_bytes;
  Bytes older_bytes;       // live blocks from before the trace
  bool rises = false;      // the least that lives of this stack at a time rises through the trace
  double kept_spread = 0;  // of the trace over which they were made: twice what the middle half of them takes, 0 to 1
};

struct SnapshotFacts {
  std::string file;
  int device = 0;
  Bytes reserved, allocated, active, requested;
  Bytes idle;             // inactive, in all pools
  Bytes idle_in_private;  // of it in pools of CUDA graphs and MemPools
  Bytes pending;          // freed, waiting for other streams
  Bytes largest_idle;     // one block
  std::int64_t segments = 0, idle_blocks = 0;
  std::optional<Bytes> failed_size, device_free;  // of the last OOM in the trace
  model::StackId failed_stack = model::StackId::kNone;
  std::string failed_line;  // as CallSite::line; empty: not recorded
  std::int64_t ooms = 0;
  std::int64_t steps = 0;  // periods that the trace shows; 0: not known
  bool expandable = false;
  std::string settings;
  std::vector<CallSite> sites;  // most bytes first

  // What this process had and could have got when it failed: less than the card by what others and its context hold.
  Bytes in_reach() const { return reserved + device_free.value_or(Bytes(0)); }
};

// Live blocks that one line made, whoever called it.
struct LineTotal {
  std::string line;
  bool is_own = false;
  std::int64_t blocks = 0;
  Bytes bytes;
};

// The script's own lines before those of packages, each by its bytes; `most` of them.
std::vector<LineTotal> largest_lines(const SnapshotFacts& facts, std::size_t most);

SnapshotFacts find_facts(const std::string& file, const model::Snapshot& snapshot);

// "train.py:40 in train": the innermost frame that is not a package's, else the innermost.
std::string own_line(const model::Snapshot& snapshot, model::StackId stack);

// Whether such a frame is in the stack.
bool has_own_line(const model::Snapshot& snapshot, model::StackId stack);

}  // namespace vramfit::doctor

#endif
