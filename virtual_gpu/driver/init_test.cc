// What the driver answers about itself.
#include <cuda.h>
#include <gtest/gtest.h>

namespace {

TEST(Init, FunctionsAreFoundByTheirNames) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = {};
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &found, CUDA_VERSION, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(cuGetProcAddress_v2("cuNobodyKnows", &found, CUDA_VERSION, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(found, nullptr);
}

TEST(Init, ReadersOfTheDriversLogComeAndGo) {
  const CUlogsCallback reads = [](void*, CUlogLevel, char*, size_t) {};
  CUlogsCallbackHandle one = nullptr, other = nullptr;
  ASSERT_EQ(cuLogsRegisterCallback(reads, nullptr, &one), CUDA_SUCCESS);
  ASSERT_EQ(cuLogsRegisterCallback(reads, nullptr, &other), CUDA_SUCCESS);
  EXPECT_NE(one, nullptr);
  EXPECT_NE(one, other);
  EXPECT_EQ(cuLogsUnregisterCallback(one), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsUnregisterCallback(one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogsUnregisterCallback(other), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsRegisterCallback(nullptr, nullptr, &one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogsRegisterCallback(reads, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
