// Which cards a process sees: CUDA_VISIBLE_DEVICES by index or by UUID.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_VISIBLE_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_VISIBLE_H

#include <string>
#include <vector>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/ledger.h"

namespace vramfit::ledger {

inline bool is_mig_instance(const vf_card& card) { return card.whole_name[0] != '\0'; }

// "GPU-" and 32 hexadecimal digits in groups of 8-4-4-4-12, as nvidia-smi -L prints; of a MIG instance "MIG-" and
// those.
VF_EXPORT std::string uuid_text(const vf_card& card);
// That of the card which a MIG instance is a part of; of a whole card its own.
VF_EXPORT std::string whole_uuid_text(const vf_card& card);

// Ledger indices in the order the process numbers them. Null `variable`: all. As CUDA does, reading stops at the first
// entry that names no card; a card named twice hides all. A divided card's name is that of its instance.
VF_EXPORT std::vector<int> visible_cards(const vf_ledger& ledger, const char* variable);

}  // namespace vramfit::ledger

#endif
