#include "base/out_of_memory.h"

#include <gtest/gtest.h>

namespace vramfit::base {
namespace {

TEST(OutOfMemory, is_said_in_many_ways) {
  for (const char* message :
       {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.92 GiB",
        "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError", "HIP out of memory. Tried to allocate 20.00 MiB",
        "CUDA error: out of memory", "hipErrorOutOfMemory", "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "cudaErrorMemoryAllocation", "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "ncclUnhandledCudaError: Cuda failure 'out of memory'",
        "MPS backend out of memory (MPS allocated: 8.98 GB)", "it ends with an out-of-memory error"}) {
    EXPECT_TRUE(says_out_of_memory(message)) << message;
  }
}

TEST(OutOfMemory, is_not_said_of_other_errors) {
  for (const char* message :
       {"", "memory", "CUDA error: an illegal memory access was encountered", "out of range",
        "CUDNN_STATUS_NOT_INITIALIZED", "cannot allocate memory in static TLS block",
        "include/alloc.h:185 NCCL WARN Cuda failure 1 'invalid argument'", "CUBLAS_STATUS_EXECUTION_FAILED"}) {
    EXPECT_FALSE(says_out_of_memory(message)) << message;
  }
}

}  // namespace
}  // namespace vramfit::base
