// cudnnStatus_t and cudnnDataType_t of cuDNN 9 (cudnn_graph.h 9.20).
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_STATUS_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_STATUS_H

#include <cstdint>

#include "vramfit/recording.h"

namespace vramfit::cudnn {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1001,
  kBadParam = 2000,
  kNullPointer = 2002,
  kNotFinalized = 2004,
  kSizeInsufficient = 2006,
  kShapeMismatch = 2008,
  kAttributeType = 2010,
  kDescriptorType = 2012,
  kNotSupported = 3000,
  kInternalError = 4000,
  kAllocFailed = 4003
};

enum DataType : int {
  kFloat = 0,
  kDouble = 1,
  kHalf = 2,
  kInt8 = 3,
  kInt32 = 4,
  kUint8 = 6,
  kBfloat16 = 9,
  kInt64 = 10,
  kBoolean = 11,
  kFp8E4M3 = 12,
  kFp8E5M2 = 13
};

constexpr int64_t bytes_of(int type) {
  switch (type) {
    case kDouble:
    case kInt64:
      return 8;
    case kHalf:
    case kBfloat16:
      return 2;
    case kInt8:
    case kUint8:
    case kBoolean:
    case kFp8E4M3:
    case kFp8E5M2:
      return 1;
    default:
      return 4;
  }
}

constexpr vf_dtype rate_of(int type) {
  switch (type) {
    case kFloat:
      return VF_DTYPE_F32;
    case kDouble:
      return VF_DTYPE_F64;
    case kHalf:
      return VF_DTYPE_F16;
    case kBfloat16:
      return VF_DTYPE_BF16;
    case kInt8:
    case kUint8:
      return VF_DTYPE_I8;
    case kFp8E4M3:
    case kFp8E5M2:
      return VF_DTYPE_F8;
    default:
      return VF_DTYPE_OTHER;
  }
}

}  // namespace vramfit::cudnn

#endif
