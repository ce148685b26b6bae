// Which cards a process sees: CUDA_VISIBLE_DEVICES by index or by UUID.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_VISIBLE_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_VISIBLE_H

#include <string>
#include <vector>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/ledger.h"

namespace vramfit::ledger {

// "GPU-" and 32 hexadecimal digits in groups of 8-4-4-4-12, as nvidia-smi -L prints.
VF_EXPORT std::string uuid_text(const vf_card& card);

// Ledger indices in the order the process numbers them. Null `variable`: all. As CUDA does, reading stops at the first
// entry that names no card; a card named twice hides all.
VF_EXPORT std::vector<int> visible_cards(const vf_ledger& ledger, const char* variable);

}  // namespace vramfit::ledger

#endif
