// Who holds how much of which card: the rules over a mapped ledger, without any process state, so that tests can play
// several processes. A `slot` is an index into vf_ledger::processes, a `card` one into vf_ledger::cards.
//
//   processes[0].used_bytes[card]  ─┐
//   processes[1].used_bytes[card]  ─┼─ sum + cards[card].occupied_bytes == use[card].used_bytes
//   ...                            ─┘
//
// The left side is the truth; the right side is recomputed whenever a holder of the lock has died.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_ACCOUNTS_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_ACCOUNTS_H

#include <sys/types.h>

#include <cstdint>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/ledger.h"

namespace vramfit::ledger {

inline constexpr int kNoSlot = -1;

// Holds the ledger's robust mutex. After a death inside it, the dead process's bytes are reclaimed first. It is held
// for microseconds, but a process that was stopped with it keeps it, and so does a thread that a signal interrupted:
// who waits for long says so on stderr.
class VF_EXPORT Lock {
 public:
  enum class Wait {
    kUntilHeld,
    kBriefly  // for kMostNaps: it may not be held then
  };
  explicit Lock(vf_ledger& ledger, Wait wait = Wait::kUntilHeld);
  ~Lock();
  bool is_held() const { return is_held_; }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  vf_ledger& ledger_;
  bool is_held_ = false;
};

// What nobody may wait for without end is waited for in so many naps, not for a time: on a busy machine each of them is
// longer, and while the process is stopped none of them passes.
inline constexpr int kMostNaps = 50;
inline constexpr long kNapNs = 100'000'000;

inline constexpr uint32_t kUnknownStart = UINT32_MAX;  // the file can't be opened: no descriptors are left, ...

// Low bits of field 22 of /proc/PID/stat (clock ticks since boot). 0: no such process, or only its zombie is left.
VF_EXPORT uint32_t start_time_of(pid_t pid);

// Whether the process of a slot is gone. Where it can't be told, by this process or when the slot was claimed, it is
// not.
VF_EXPORT bool has_ended(const vf_process& process);
// What is in use on a card but for what processes that are gone left in the ledger: for readers, who can't clear it.
VF_EXPORT int64_t living_bytes(const vf_ledger& ledger, int card);

// The rest needs the lock.
VF_EXPORT int claim_slot(const Lock&, vf_ledger& ledger, pid_t pid);
VF_EXPORT void release_slot(const Lock&, vf_ledger& ledger, int slot);
// Gives back what processes that no longer exist held; returns how many there were.
VF_EXPORT int reclaim_dead(const Lock&, vf_ledger& ledger);
VF_EXPORT bool take(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes);
VF_EXPORT void give_back(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes);
// Free bytes as cudaMemGetInfo tells them: never below 0, although managed memory may oversubscribe a card.
VF_EXPORT int64_t free_bytes(const Lock&, const vf_ledger& ledger, int card);
// Adds bytes whether or not there is room: managed memory pages out instead of failing.
VF_EXPORT void take_oversubscribed(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes);

}  // namespace vramfit::ledger

#endif
