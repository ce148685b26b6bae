// Who uses a card. PyTorch's out-of-memory text is written from this list.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_PROCESSES_H
#define VRAMFIT_VIRTUAL_GPU_NVML_PROCESSES_H

#include <vector>

#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {

// Those that compute on the handle's card or instance; NVML's answer where there is no list.
int find_users(Handle handle, std::vector<ScriptedProcess>& users);

}  // namespace vramfit::nvml

#endif
