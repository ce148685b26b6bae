// What a cuBLAS handle keeps. Enum values from the cuBLAS 13 documentation ("cuBLAS Datatypes Reference").
#ifndef VRAMFIT_VIRTUAL_GPU_CUBLAS_HANDLE_H
#define VRAMFIT_VIRTUAL_GPU_CUBLAS_HANDLE_H

#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cublas {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kInvalidValue = 7, kNotSupported = 15 };
enum PointerMode : int { kHostPointers = 0, kDevicePointers = 1 };
inline constexpr int kMathTf32 = 3;          // CUBLAS_TF32_TENSOR_OP_MATH
inline constexpr int kMathFlags = 0x10;      // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION and above
inline constexpr int kComputeFastTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32

struct Handle {
  library::Stream stream = nullptr;
  int math_mode = 0;
  int pointer_mode = kHostPointers;
  int atomics_mode = 0;
  int sm_count_target = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// The rate a product of `type` runs at under the handle's math mode.
inline vf_dtype rate_under(const Handle& handle, int32_t type) {
  const vf_dtype rate = library::rate_of(type);
  const bool tf32 = (handle.math_mode & (kMathFlags - 1)) == kMathTf32;
  return rate == VF_DTYPE_F32 && tf32 ? VF_DTYPE_TF32 : rate;
}

}  // namespace vramfit::cublas

#endif
