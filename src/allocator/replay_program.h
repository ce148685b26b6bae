// A memory snapshot's trace as a program of calls that can be run again, at other settings and on another card.
//
//   ring buffer     ....lost....[ trace                                   ] final segments
//   seed            what lived when the trace began: the final state with the trace undone
//   calls           allocate, free, wait for events, empty the cache, as the trace tells them
#ifndef VRAMFIT_ALLOCATOR_REPLAY_PROGRAM_H
#define VRAMFIT_ALLOCATOR_REPLAY_PROGRAM_H

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/recorded_device.h"
#include "allocator/recorded_state.h"
#include "allocator/settings.h"
#include "allocator/state.h"
#include "base/error.h"
#include "model/snapshot.h"

namespace vramfit::allocator {

struct ReplayCall {
  enum class Kind : std::uint8_t {
    kAllocate,
    kFree,
    kUse,       // another stream works with it: its free will wait for that
    kComplete,  // and now that work is done
    kEmptyCache,
    kRelease,  // the allocator gave its cache back for want of memory
    kAttempt,  // an allocation that failed; `bytes` is the rounded request
  };
  Kind kind = Kind::kAllocate;
  std::uint8_t pool = 0;     // index into ReplayProgram::pools
  std::uint16_t stream = 0;  // index into ReplayProgram::streams
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;  // requested
  friend bool operator==(const ReplayCall&, const ReplayCall&) = default;
};

struct ReplayProgram {
  std::vector<ReplayCall> calls;
  std::vector<std::uint32_t> entry_of;  // call -> entry of the trace
  std::vector<ReplaySlot> slots;
  std::vector<StreamHandle> streams;
  std::vector<PoolId> pools;  // the first is the default pool
  AllocatorState seed;        // tags are slots
  std::int64_t seeded_blocks = 0;
  std::int64_t seeded_bytes = 0;
  RecordedAddresses addresses;
  // What PyTorch could have reserved when it ran out: reserved and free together. Nothing when it never did.
  std::optional<std::uint64_t> capacity;
  AllocatorState final;                // the snapshot's own segments; tags are stacks
  std::uint64_t recorded_peak = 0;     // reserved
  std::int64_t unmatched_entries = 0;  // frees of what nobody allocated, and the like
};

// `own` and `rules`: what the recording ran under. They size blocks of which only the request is known.
base::Result<ReplayProgram> build_replay(const model::Snapshot& snapshot, int device, const Settings& own,
                                         const Rules& rules);

// Settings that were in force when the snapshot was taken.
base::Result<Settings> settings_of(const model::Snapshot& snapshot, const Rules& rules);

}  // namespace vramfit::allocator

#endif
