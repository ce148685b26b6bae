// Contexts that a program makes itself, through the driver's public interface: what was made in one goes with it.
#include <cuda.h>
#include <gtest/gtest.h>

#include "virtual_gpu/testing/driver_context.h"

namespace {

class DriverContexts : public vramfit::testing::DriverContext {
 protected:
  static size_t free_bytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }
  static CUcontext make() {
    CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
    EXPECT_EQ(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
#else
    EXPECT_EQ(cuCtxCreate(&made, 0, 0), CUDA_SUCCESS);
#endif
    return made;
  }
};

TEST_F(DriverContexts, take_their_streams_and_events_along) {
  CUstream of_primary = nullptr, stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(cuStreamCreate(&of_primary, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUcontext own = make();
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  CUcontext of_stream = nullptr;
  ASSERT_EQ(cuStreamGetCtx(stream, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, own);
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamQuery(of_primary), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT) << "it is gone";
  EXPECT_EQ(cuStreamDestroy(of_primary), CUDA_SUCCESS);
}

TEST_F(DriverContexts, give_their_memory_back) {
  const size_t before = free_bytes();
  CUdeviceptr of_primary = 0, large = 0, small = 0, managed = 0;
  ASSERT_EQ(cuMemAlloc(&of_primary, 8 << 20), CUDA_SUCCESS);
  const CUcontext own = make();
  void* host = nullptr;
  ASSERT_EQ(cuMemAlloc(&large, 64 << 20), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&small, 512), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocManaged(&managed, 4 << 20, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocHost(&host, 4096), CUDA_SUCCESS);
  EXPECT_LT(free_bytes(), before - (64 << 20));
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - (8 << 20));
  EXPECT_EQ(cuMemFree(large), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(of_primary), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverContexts, unload_their_modules) {
  const char* const code = ".version 8.0\n.target sm_50\n.address_size 64\n";
  CUmodule of_primary = nullptr, module = nullptr;
  CUfunction function = nullptr, other = nullptr;
  ASSERT_EQ(cuModuleLoadData(&of_primary, code), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&other, of_primary, "scale"), CUDA_SUCCESS);
  const CUcontext own = make();
  ASSERT_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "scale"), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncSetCacheConfig(other, CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(of_primary), CUDA_SUCCESS);
}

TEST_F(DriverContexts, a_reset_of_the_primary_one_takes_its_memory_alone) {
  const size_t before = free_bytes();
  CUdeviceptr of_primary = 0, of_own = 0;
  ASSERT_EQ(cuMemAlloc(&of_primary, 64 << 20), CUDA_SUCCESS);
  const CUcontext own = make();
  ASSERT_EQ(cuMemAlloc(&of_own, 8 << 20), CUDA_SUCCESS);
  const size_t with_both = free_bytes();
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), with_both + (64 << 20));
  EXPECT_EQ(cuMemFree(of_primary), CUDA_ERROR_INVALID_VALUE) << "it is gone";
  EXPECT_EQ(cuMemFree(of_own), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
