// What a run's histories and its virtual cards' own accounting say of each card as a whole.
#ifndef VRAMFIT_FACTS_CARD_FACTS_H
#define VRAMFIT_FACTS_CARD_FACTS_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "facts/processes.h"
#include "liveness/lifetimes.h"
#include "model/run_result.h"

struct vf_ledger;

namespace vramfit::facts {

// The use that the virtual card counted itself, whoever took it.
struct AccountedUse {
  base::Bytes occupied, peak;
  std::int64_t refused = 0;              // allocations, for want of memory
  std::optional<base::Bytes> shortfall;  // what the largest of them lacked
};

struct CardFacts {
  int device = 0;
  bool has_history = false;  // anything happened on it
  int contexts = 0;          // processes that hold one
  base::Bytes context, libraries;
  model::Peaks peaks;
  std::vector<model::PhaseResult> phases;
  liveness::EventIndex fullest = liveness::kNever;  // what explains its peak (liveness/peaks.h)
  std::optional<liveness::EventIndex> last_out_of_memory;
  std::optional<AccountedUse> accounted;  // none: a real card
  std::vector<RealCard> real;             // as each process was told of it; several: they have different ones
  bool tells_own = false;                 // NVML told what each process holds of it
  base::Bytes others;                     // at the fullest moment, held by no process of the job
};

// All cards of a virtual machine; of a real one (`ledger` is null) those that anything happened on. By index.
std::vector<CardFacts> read_cards(std::span<const liveness::CardHistory> histories, std::span<const Process> processes,
                                  const vf_ledger* ledger);

}  // namespace vramfit::facts

#endif
