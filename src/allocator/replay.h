// Runs a recorded program of allocator calls again: under its own settings as a proof, at others to see what would have
// been.
#ifndef VRAMFIT_ALLOCATOR_REPLAY_H
#define VRAMFIT_ALLOCATOR_REPLAY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/oom.h"
#include "allocator/replay_program.h"
#include "allocator/rules.h"
#include "allocator/settings.h"
#include "allocator/state.h"
#include "allocator/statistics.h"

namespace vramfit::allocator {

struct ReplayOptions {
  Rules rules;
  Settings settings;
  std::optional<std::uint64_t> capacity;  // what PyTorch may reserve; nothing: without end
  // Replays as recorded: the driver's addresses, the segments that were there, cache given back where it was. Otherwise
  // what was there is allocated first, in order of address.
  bool is_exact = false;
  bool keeps_worst_state = false;  // and how memory lay at the OOM, or when the most was reserved
};

struct ReplayRun {
  bool fits = true;  // nothing failed, recorded failures included
  // The first call that failed; those that failed in the recording too are passed over, others end the replay.
  std::optional<OutOfMemory> oom;
  std::uint32_t oom_entry = kNotTraced;  // of the trace
  bool is_ended = false;                 // by an OOM that the recording did not have
  std::uint32_t calls = 0;               // that were made
  std::int64_t peak_reserved = 0;
  std::int64_t peak_allocated = 0;
  std::int64_t device_allocations = 0;  // cudaMalloc, or mapping of pages
  std::int64_t device_frees = 0;
  std::int64_t retries = 0;  // the whole cache given back, and the streams waited for
  AllocatorState final;      // tags are slots
  AllocatorState worst;      // likewise; with keeps_worst_state
  std::uint32_t worst_entry = kNotTraced;
};

ReplayRun replay(const ReplayProgram& program, const ReplayOptions& options);

// The least capacity, in whole MiB, at which everything fits under these settings.
std::uint64_t find_least_capacity(const ReplayProgram& program, ReplayOptions options);

// How far the replay under the recording's own settings is from what was recorded.
struct Proof {
  bool is_same = false;
  std::int64_t segments = 0;       // recorded
  std::int64_t blocks = 0;         // in use
  std::int64_t same_segments = 0;  // there with the same address and size
  std::int64_t same_blocks = 0;    // likewise
  std::int64_t recorded_reserved = 0;
  std::int64_t replayed_reserved = 0;
  std::vector<std::string> differences;  // the first few
  friend bool operator==(const Proof&, const Proof&) = default;
};

Proof compare(const AllocatorState& recorded, const AllocatorState& replayed);

// The rules under which the recording replays best; of equals the oldest that writes such a snapshot.
struct OwnRules {
  Rules rules;
  Settings settings;
  Proof proof;
  ReplayProgram program;
};
base::Result<OwnRules> find_own_rules(const model::Snapshot& snapshot, int device, std::optional<TorchVersion> version);

}  // namespace vramfit::allocator

#endif
