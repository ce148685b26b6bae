// What cuSPARSE's descriptors keep (cusparse.h of CUDA 13; CUDA 12 has the same).
#ifndef VRAMFIT_VIRTUAL_GPU_CUSPARSE_DESCRIPTOR_H
#define VRAMFIT_VIRTUAL_GPU_CUSPARSE_DESCRIPTOR_H

#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cusparse {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 2, kInvalidValue = 3, kNotSupported = 10 };
enum IndexType : int { kIndex16 = 1, kIndex32 = 2, kIndex64 = 3 };

struct Handle {
  library::Stream stream = nullptr;
  int pointer_mode = 0;
};

struct Sparse {
  int64_t rows = 0, columns = 0, nonzeros = 0;
  int32_t value_type = library::kReal32;
  int index_bytes = 4;
  int batches = 1;
};

struct Dense {  // a matrix, or a vector of one column
  int64_t rows = 0, columns = 1;
  int32_t value_type = library::kReal32;
  int batches = 1;
};

// An opaque state between the steps of a product or a solve.
struct Steps {
  int64_t nonzeros = 0;  // of the result, once estimated
};

}  // namespace vramfit::cusparse

#endif
