// What came of replaying a memory snapshot: the proof, what other settings would have done, and who pins which holes.
#ifndef VRAMFIT_MODEL_REPLAY_RESULT_H
#define VRAMFIT_MODEL_REPLAY_RESULT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

// The replay under the recording's own settings, against the recording's own segments.
struct ReplayProof {
  bool is_same = false;
  std::int64_t segments = 0, same_segments = 0;
  std::int64_t blocks = 0, same_blocks = 0;  // in use
  base::Bytes recorded_reserved, replayed_reserved;
  std::vector<std::string> differences;  // the first few
};

struct ReplayOom {
  base::Bytes tried;      // the segment: "Tried to allocate"
  base::Bytes requested;  // by the tensor
  base::Bytes allocated, reserved;
  std::int64_t entry = -1;  // of the trace; -1: already while putting back what lived before it
  std::string where;        // the user's line that asked
};

// One set of settings tried on the recording.
struct ReplayTrial {
  std::string settings;  // PYTORCH_CUDA_ALLOC_CONF; empty: the defaults
  bool is_own = false;   // what the recording ran under
  bool fits = true;
  std::optional<base::Bytes> needs;  // the least capacity at which it fits
  base::Bytes peak_reserved, peak_allocated;
  std::int64_t driver_allocations = 0, driver_frees = 0;
  std::int64_t retries = 0;  // the whole cache given back, all streams waited for
  std::optional<ReplayOom> oom;
};

// A line of the user's whose live blocks keep free memory from going back.
struct ReplayOwner {
  std::string where;
  base::Bytes pinned_alone, pinned_shared, live;
  std::int64_t blocks = 0, segments = 0;
};

struct ReplaySegment {
  std::string address;  // hexadecimal
  std::string pool;     // "small", "large", with the private pool's number
  base::Bytes total, free, largest_hole, live;
  std::int64_t live_blocks = 0;
  std::vector<std::string> owners;  // the one with the most bytes first
};

// Memory at the worst moment: at the OOM, else when the most was reserved.
struct Fragmentation {
  std::int64_t entry = -1;
  bool is_at_oom = false;
  base::Bytes reserved, live, free;
  base::Bytes returnable;  // of what is free: empty_cache() gives it back
  base::Bytes pinned;      // of what is free: held by live blocks around it
  base::Bytes in_pools;    // of what is free: in private pools, which keep it
  base::Bytes largest_hole;
  std::vector<ReplayOwner> owners;
  std::vector<ReplaySegment> segments;
};

struct ReplayResult {
  std::string file;
  int device = 0;
  std::string torch;     // whose rules: "2.12"
  std::string untested;  // a sentence: the release is beyond those that are known; empty: it is not
  std::int64_t events = 0;
  std::int64_t seeded_blocks = 0;  // that lived when the trace began: the ring buffer lost how
  base::Bytes seeded;
  std::int64_t unmatched_entries = 0;
  base::Bytes recorded_peak;  // reserved
  std::optional<base::Bytes> capacity;
  std::string capacity_source;  // in words
  std::string damage;           // the file was cut; empty: whole
  ReplayProof proof;
  ReplayTrial own;
  std::optional<ReplayTrial> asked;  // --set
  std::vector<ReplayTrial> search;   // --search: the best first
  bool needs_are_unknown = false;    // the search was too large to look for the least capacities
  Fragmentation fragmentation;

  // Whether the replay is of the recording: of the whole of it, and every segment and block in use came out where it
  // was recorded. Else what it says of a card is a guess.
  bool is_certain() const { return damage.empty() && (proof.is_same || (proof.segments == 0 && proof.blocks == 0)); }
};

}  // namespace vramfit::model

#endif
