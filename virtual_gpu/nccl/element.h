// Elements of ncclDataType_t and how contributions are combined: reductions of small buffers are computed for real.
#ifndef VRAMFIT_VIRTUAL_GPU_NCCL_ELEMENT_H
#define VRAMFIT_VIRTUAL_GPU_NCCL_ELEMENT_H

#include <cstdint>

namespace vramfit::nccl {

// Bytes of an element; 0 for a type NCCL does not have.
int64_t bytes_of(int type);

// into[i] = into[i] (operation) from[i]. Sums and averages add; finish_average divides by `ranks` afterwards.
// 8-bit floats keep the first contribution: nothing in PyTorch reduces them.
void combine(void* into, const void* from, int64_t count, int type, int operation);
void finish_average(void* values, int64_t count, int type, int ranks);

}  // namespace vramfit::nccl

#endif
