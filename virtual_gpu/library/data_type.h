// cudaDataType_t, as library_types.h of CUDA 13.0 numbers it: how wide an element is and which rate it runs at.
#ifndef VRAMFIT_VIRTUAL_GPU_LIBRARY_DATA_TYPE_H
#define VRAMFIT_VIRTUAL_GPU_LIBRARY_DATA_TYPE_H

#include <cstdint>

#include "vramfit/recording.h"

namespace vramfit::library {

enum DataType : int32_t {
  kReal32 = 0,
  kReal64 = 1,
  kReal16 = 2,
  kInt8 = 3,
  kComplex32 = 4,
  kComplex64 = 5,
  kComplex16 = 6,
  kUint8 = 8,
  kInt32 = 10,
  kBrain16 = 14,
  kComplexBrain16 = 15,
  kInt64 = 24,
  kFloat8E4M3 = 28,
  kFloat8E5M2 = 29,
  kFloat8Scale = 30,  // UE8M0
  kFloat4 = 33        // E2M1, two elements a byte
};

constexpr int64_t bits_of(int32_t type) {
  switch (type) {
    case kComplex64:
      return 128;
    case kReal64:
    case kComplex32:
    case kInt64:
      return 64;
    case kReal16:
    case kBrain16:
      return 16;
    case kInt8:
    case kUint8:
    case kFloat8E4M3:
    case kFloat8E5M2:
    case kFloat8Scale:
      return 8;
    case kFloat4:
      return 4;
    default:  // kReal32, kInt32, kComplex16, kComplexBrain16
      return 32;
  }
}

constexpr int64_t bytes_of(int32_t type, int64_t elements) { return (elements * bits_of(type) + 7) / 8; }

constexpr bool is_complex(int32_t type) {
  return type == kComplex16 || type == kComplex32 || type == kComplex64 || type == kComplexBrain16;
}

constexpr vf_dtype rate_of(int32_t type) {
  switch (type) {
    case kReal32:
    case kComplex32:
      return VF_DTYPE_F32;
    case kReal64:
    case kComplex64:
      return VF_DTYPE_F64;
    case kReal16:
    case kComplex16:
      return VF_DTYPE_F16;
    case kBrain16:
    case kComplexBrain16:
      return VF_DTYPE_BF16;
    case kFloat8E4M3:
    case kFloat8E5M2:
    case kFloat4:
      return VF_DTYPE_F8;
    case kInt8:
    case kUint8:
      return VF_DTYPE_I8;
    default:
      return VF_DTYPE_OTHER;
  }
}

}  // namespace vramfit::library

#endif
