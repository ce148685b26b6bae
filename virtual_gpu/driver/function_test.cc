// Functions of loaded code through the driver's public interface: a handle that nobody gave is refused, never read.
#include <cuda.h>
#include <gtest/gtest.h>

#include "virtual_gpu/device/kernel.h"
#include "virtual_gpu/testing/driver_context.h"

namespace {

class DriverFunctions : public vramfit::testing::DriverContext {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DriverContext::SetUp());
    ASSERT_EQ(cuModuleLoadData(&module_, ".version 8.0\n.target sm_50\n.address_size 64\n"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function_, module_, "scale"), CUDA_SUCCESS);
  }

  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

TEST_F(DriverFunctions, are_known_until_their_module_goes) {
  int value = 0;
  CUfunction of_kernel = nullptr;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function_), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetCacheConfig(function_, CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetFunction(&of_kernel, reinterpret_cast<CUkernel>(function_)), CUDA_SUCCESS);
  EXPECT_EQ(of_kernel, function_);
  int clusters = 0;
  CUlaunchConfig config = {};
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function_, 128, 0), CUDA_SUCCESS);
  EXPECT_GT(value, 0);
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&clusters, function_, &config), CUDA_SUCCESS);
  EXPECT_GT(clusters, 0);

  ASSERT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetFunction(&of_kernel, reinterpret_cast<CUkernel>(function_)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(of_kernel, nullptr);
}

TEST_F(DriverFunctions, of_nobody_are_refused) {
  int stranger = 0;
  auto* const nobodys = reinterpret_cast<CUfunction>(&stranger);
  auto* const kernel = reinterpret_cast<CUkernel>(&stranger);
  int value = -1;
  const char* name = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nobodys), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncSetAttribute(nobodys, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncSetCacheConfig(nobodys, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncGetName(&name, nobodys), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1, kernel, 0),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(nobodys, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, nobodys, 128, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
}

// Some libraries ask the runtime for the function behind a kernel and go on with the driver.
TEST_F(DriverFunctions, of_the_runtime_are_known) {
  static int symbol = 0;
  vramfit::device::register_kernel(vramfit::device::register_module(nullptr), reinterpret_cast<const char*>(&symbol));
  auto* const function = reinterpret_cast<CUfunction>(&symbol);
  int value = 0;
  CUfunction of_kernel = nullptr;
  EXPECT_EQ(cuKernelGetFunction(&of_kernel, reinterpret_cast<CUkernel>(function)), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
}

}  // namespace
