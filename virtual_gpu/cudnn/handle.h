#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_HANDLE_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_HANDLE_H

#include "virtual_gpu/library/abi.h"

namespace vramfit::cudnn {

struct Handle {
  library::Stream stream = nullptr;
};

// What cudnnGetVersion answers: major * 10000 + minor * 100 + patch of the cuDNN that the loaded PyTorch was built for.
// PyTorch refuses a cuDNN whose minor version is below that one (torch.backends.cudnn, _init).
int64_t emulated_version();

}  // namespace vramfit::cudnn

#endif
