// cuSOLVER through its exported names: handles, workspace sizes of both interfaces, error paths.
#include "virtual_gpu/cusolver/handle.h"

#include <gtest/gtest.h>

#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/testing/card_fixture.h"

using vramfit::cusolver::Handle;

extern "C" {
int cusolverDnCreate(Handle**);
int cusolverDnDestroy(Handle*);
int cusolverDnSetStream(Handle*, void*);
int cusolverDnSpotrf_bufferSize(Handle*, int, int, void*, int, int*);
int cusolverDnSgesvd_bufferSize(Handle*, int, int, int*);
int cusolverDnSsyevd_bufferSize(Handle*, int, int, int, const void*, int, const void*, int*);
int cusolverDnXgeqrf_bufferSize(Handle*, void*, int64_t, int64_t, int, const void*, int64_t, int, const void*, int,
                                size_t*, size_t*);
int cusolverDnCreateParams(int**);
int cusolverDnDestroyParams(int*);
int cusolverDnSgesvdaStridedBatched(Handle*, int, int, int, int, const void*, int, long long, void*, long long, void*,
                                    int, long long, void*, int, long long, void*, int, int*, double*, int);
}

namespace {

namespace cusolver = vramfit::cusolver;
using vramfit::testing::CardEnvironment;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

class Cusolver : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cusolverDnCreate(&handle_), cusolver::kSuccess); }
  void TearDown() override { EXPECT_EQ(cusolverDnDestroy(handle_), cusolver::kSuccess); }
  Handle* handle_ = nullptr;
};

// The figures are those of a real H200.
TEST_F(Cusolver, sizes_are_elements_in_the_old_interface_and_bytes_in_the_new) {
  int elements = -1;
  ASSERT_EQ(cusolverDnSgesvd_bufferSize(handle_, 100, 100, &elements), cusolver::kSuccess);
  EXPECT_EQ(elements, 487680 / 4);
  size_t device = 7, host = 7;
  ASSERT_EQ(cusolverDnXgeqrf_bufferSize(handle_, nullptr, 300, 1000, vramfit::library::kReal32, nullptr, 300,
                                        vramfit::library::kReal32, nullptr, vramfit::library::kReal32, &device, &host),
            cusolver::kSuccess);
  EXPECT_EQ(device, 6193280u);
  EXPECT_EQ(host, 0u);
}

TEST_F(Cusolver, eigenvalues_take_the_same_with_and_without_vectors) {
  int with = 0, without = 0;
  ASSERT_EQ(cusolverDnSsyevd_bufferSize(handle_, 1, 0, 513, nullptr, 513, nullptr, &with), cusolver::kSuccess);
  ASSERT_EQ(cusolverDnSsyevd_bufferSize(handle_, 0, 0, 513, nullptr, 513, nullptr, &without), cusolver::kSuccess);
  EXPECT_EQ(with, 4996504 / 4);
  EXPECT_EQ(without, with);
}

TEST_F(Cusolver, an_empty_matrix_still_has_a_workspace) {
  int elements = 0;
  ASSERT_EQ(cusolverDnSgesvd_bufferSize(handle_, 0, 0, &elements), cusolver::kSuccess);
  EXPECT_GE(elements, 1);
}

TEST_F(Cusolver, residuals_on_the_host_are_written_for_each_matrix) {
  double residuals[3] = {7, 7, 7};
  ASSERT_EQ(cusolverDnSgesvdaStridedBatched(handle_, 1, 1, 2, 2, nullptr, 2, 4, nullptr, 2, nullptr, 2, 4, nullptr, 2,
                                            4, nullptr, 0, nullptr, residuals, 2),
            cusolver::kSuccess);
  EXPECT_EQ(residuals[0], 0);
  EXPECT_EQ(residuals[1], 0);
  EXPECT_EQ(residuals[2], 7);
}

TEST_F(Cusolver, parameters_are_made_and_destroyed) {
  int* parameters = nullptr;
  ASSERT_EQ(cusolverDnCreateParams(&parameters), cusolver::kSuccess);
  EXPECT_NE(parameters, nullptr);
  EXPECT_EQ(cusolverDnDestroyParams(parameters), cusolver::kSuccess);
}

TEST(CusolverErrors, nothing_works_without_a_handle_or_an_output) {
  int elements = 0;
  EXPECT_EQ(cusolverDnCreate(nullptr), cusolver::kInvalidValue);
  EXPECT_EQ(cusolverDnSetStream(nullptr, nullptr), cusolver::kNotInitialized);
  EXPECT_EQ(cusolverDnSpotrf_bufferSize(nullptr, 0, 1, nullptr, 1, &elements), cusolver::kNotInitialized);
  Handle handle;
  EXPECT_EQ(cusolverDnSpotrf_bufferSize(&handle, 0, 1, nullptr, 1, nullptr), cusolver::kInvalidValue);
}

}  // namespace
