// This process's part in the ledger: the mapping, its slot and the cards it sees. Only ledger/ includes this.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_PROCESS_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_PROCESS_H

#include <string>
#include <vector>

#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::ledger {

struct Process {
  vf_ledger* ledger = nullptr;
  int slot = -1;
  std::vector<int> cards;  // ledger indices by ordinal
};

// Attached and usable, else null.
const Process* attached();
// The same while the process ends: what it sees of the cards stays true, also for a thread that is in the middle of a
// call.
const Process* attached_once();
// The mapping alone, whichever way it came about; null without one.
vf_ledger* mapped();

}  // namespace vramfit::ledger

#endif
