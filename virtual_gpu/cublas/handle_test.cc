// cuBLAS through its exported names: handles, their settings, products and error paths.
#include "virtual_gpu/cublas/handle.h"

#include <gtest/gtest.h>

#include <cstring>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/testing/card_fixture.h"

using vramfit::cublas::Handle;

extern "C" {
int cublasCreate_v2(Handle**);
int cublasDestroy_v2(Handle*);
int cublasGetVersion_v2(Handle*, int*);
int cublasSetStream_v2(Handle*, void*);
int cublasGetStream_v2(Handle*, void**);
int cublasSetWorkspace_v2(Handle*, void*, size_t);
int cublasSetMathMode(Handle*, int);
int cublasGetMathMode(Handle*, int*);
int cublasSetPointerMode_v2(Handle*, int);
int cublasGetPointerMode_v2(Handle*, int*);
int cublasSgemm_v2(Handle*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                   void*, int);
int cublasSdot_v2(Handle*, int, const void*, int, const void*, int, float*);
int cublasSgeqrfBatched(Handle*, int, int, void*, int, void*, int*, int);
const char* cublasGetStatusName(int);
}

namespace {

namespace cublas = vramfit::cublas;
using vramfit::testing::CardEnvironment;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

class Cublas : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cublasCreate_v2(&handle_), cublas::kSuccess); }
  void TearDown() override { EXPECT_EQ(cublasDestroy_v2(handle_), cublas::kSuccess); }
  int multiply(int m, int n, int k) {
    return cublasSgemm_v2(handle_, 0, 0, m, n, k, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1);
  }
  Handle* handle_ = nullptr;
};

TEST_F(Cublas, settings_are_kept_and_told) {
  int mode = -1;
  ASSERT_EQ(cublasGetMathMode(handle_, &mode), cublas::kSuccess);
  EXPECT_EQ(mode, 0);
  ASSERT_EQ(cublasSetMathMode(handle_, cublas::kMathTf32), cublas::kSuccess);
  ASSERT_EQ(cublasGetMathMode(handle_, &mode), cublas::kSuccess);
  EXPECT_EQ(mode, cublas::kMathTf32);
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, cublas::kDevicePointers), cublas::kSuccess);
  ASSERT_EQ(cublasGetPointerMode_v2(handle_, &mode), cublas::kSuccess);
  EXPECT_EQ(mode, cublas::kDevicePointers);
}

TEST_F(Cublas, setting_a_stream_forgets_the_workspace) {
  char workspace[256];
  ASSERT_EQ(cublasSetWorkspace_v2(handle_, workspace, sizeof workspace), cublas::kSuccess);
  EXPECT_EQ(handle_->workspace_bytes, sizeof workspace);
  void* stream = &workspace;
  ASSERT_EQ(cublasSetStream_v2(handle_, nullptr), cublas::kSuccess);
  ASSERT_EQ(cublasGetStream_v2(handle_, &stream), cublas::kSuccess);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(handle_->workspace, nullptr);
  EXPECT_EQ(handle_->workspace_bytes, 0u);
}

TEST_F(Cublas, the_version_is_that_of_its_major) {
  int version = 0;
  ASSERT_EQ(cublasGetVersion_v2(handle_, &version), cublas::kSuccess);
  EXPECT_EQ(version / 10000, VRAMFIT_TEST_MAJOR);
}

TEST_F(Cublas, a_product_is_one_launch_and_a_negative_size_is_refused) {
  const uint64_t before = vramfit_gpu_launches();
  EXPECT_EQ(multiply(4, 5, 6), cublas::kSuccess);
  EXPECT_EQ(vramfit_gpu_launches(), before + 1);
  EXPECT_EQ(multiply(-1, 5, 6), cublas::kInvalidValue);
  EXPECT_EQ(vramfit_gpu_launches(), before + 1);
}

TEST_F(Cublas, a_reduction_to_the_host_is_written_and_one_to_the_card_is_not_touched) {
  float result = 7;
  ASSERT_EQ(cublasSdot_v2(handle_, 3, nullptr, 1, nullptr, 1, &result), cublas::kSuccess);
  EXPECT_EQ(result, 0);
}

TEST_F(Cublas, a_factorisation_tells_that_its_arguments_were_valid) {
  int info = 7;
  ASSERT_EQ(cublasSgeqrfBatched(handle_, 2, 2, nullptr, 2, nullptr, &info, 1), cublas::kSuccess);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(cublasSgeqrfBatched(handle_, 2, 2, nullptr, 2, nullptr, nullptr, 1), cublas::kInvalidValue);
}

TEST(CublasErrors, nothing_works_without_a_handle) {
  int value = 0;
  float result = 0;
  EXPECT_EQ(cublasCreate_v2(nullptr), cublas::kInvalidValue);
  EXPECT_EQ(cublasGetMathMode(nullptr, &value), cublas::kNotInitialized);
  EXPECT_EQ(cublasSetStream_v2(nullptr, nullptr), cublas::kNotInitialized);
  EXPECT_EQ(cublasSdot_v2(nullptr, 1, nullptr, 1, nullptr, 1, &result), cublas::kNotInitialized);
  EXPECT_EQ(cublasDestroy_v2(nullptr), cublas::kNotInitialized);
  EXPECT_STREQ(cublasGetStatusName(cublas::kInvalidValue), "CUBLAS_STATUS_INVALID_VALUE");
}

}  // namespace
