// The processes of a run: who each was, and what it took of which card.
#ifndef VRAMFIT_FACTS_PROCESSES_H
#define VRAMFIT_FACTS_PROCESSES_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

struct CardUse {
  int device = 0;
  bool has_context = false;
  base::Bytes context, libraries, peak_allocated;
};

// A card of the machine's own, as the driver and NVML told a process (recorder/real_card.h).
struct RealCard {
  int device = 0;                  // its number in that process
  std::string name, uuid, driver;  // `driver`: its version; empty: there is no NVML
  base::Bytes total;               // that CUDA can give
  bool tells_own = false;          // NVML says what the process holds of it
};

struct Process {
  int pid = 0;
  model::JobRole role = model::JobRole::kMain;
  int rank = 0, world_size = 1, local_rank = -1;
  std::vector<std::pair<std::uint32_t, model::ThreadRole>> threads;  // their id and role
  std::vector<CardUse> cards;                                        // by index
  std::vector<RealCard> real_cards;                                  // that it used
  bool has_recorded = false;                                         // anything at all
};

Process read_process(const model::Recording& recording);

}  // namespace vramfit::facts

#endif
