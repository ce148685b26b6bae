// Tensor maps, by which kernels on Hopper copy parts of tensors.
#include <cstdint>
#include <cstring>

#include "virtual_gpu/driver/driver.h"

namespace {

// A tensor map is opaque to the host; only its rules are checked: a multiple of 16 bytes, at most five dimensions.
CUresult encode_tensor_map(CUtensorMap* map, cuuint32_t rank, void* address) {
  VF_NEED(map);
  std::memset(map, 0, sizeof *map);
  VF_NEED_CARD();
  if (rank == 0 || rank > 5 || reinterpret_cast<uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  return encode_tensor_map(map, rank, address);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  VF_NEED(map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
