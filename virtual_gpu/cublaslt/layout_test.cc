// cublasLt through its exported names: descriptions, the choice of an algorithm, and which cards know which types.
#include "virtual_gpu/cublaslt/layout.h"

#include <gtest/gtest.h>

#include <cstring>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/testing/card_fixture.h"

using vramfit::cublaslt::Algorithm;
using vramfit::cublaslt::Description;
using vramfit::cublaslt::Heuristic;
using vramfit::cublaslt::Layout;
using vramfit::cublaslt::Preference;

extern "C" {
size_t cublasLtGetVersion();
int cublasLtCreate(void**);
int cublasLtDestroy(void*);
int cublasLtMatrixLayoutCreate(Layout**, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutDestroy(Layout*);
int cublasLtMatrixLayoutSetAttribute(Layout*, int, const void*, size_t);
int cublasLtMatrixLayoutGetAttribute(Layout*, int, void*, size_t, size_t*);
int cublasLtMatmulDescCreate(Description**, int, int);
int cublasLtMatmulDescDestroy(Description*);
int cublasLtMatmulDescSetAttribute(Description*, int, const void*, size_t);
int cublasLtMatmulDescGetAttribute(Description*, int, void*, size_t, size_t*);
int cublasLtMatmulPreferenceCreate(Preference**);
int cublasLtMatmulPreferenceDestroy(Preference*);
int cublasLtMatmulPreferenceSetAttribute(Preference*, int, const void*, size_t);
int cublasLtMatmulPreferenceGetAttribute(Preference*, int, void*, size_t, size_t*);
int cublasLtMatmulAlgoGetHeuristic(void*, Description*, Layout*, Layout*, Layout*, Layout*, Preference*, int,
                                   Heuristic*, int*);
int cublasLtMatmul(void*, Description*, const void*, const void*, Layout*, const void*, Layout*, const void*,
                   const void*, Layout*, void*, Layout*, const Algorithm*, void*, size_t, void*);
}

namespace {

namespace lt = vramfit::cublaslt;
using vramfit::testing::CardEnvironment;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

constexpr int kTransposeB = 4;  // CUBLASLT_MATMUL_DESC_TRANSB

class CublasLt : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cublasLtCreate(&handle_), lt::kSuccess);
    ASSERT_EQ(cublasLtMatmulDescCreate(&product_, 68, 0), lt::kSuccess);
    ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference_), lt::kSuccess);
    matrix_ = matrix_of(vramfit::library::kReal32);
  }
  void TearDown() override {
    EXPECT_EQ(cublasLtMatrixLayoutDestroy(matrix_), lt::kSuccess);
    EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference_), lt::kSuccess);
    EXPECT_EQ(cublasLtMatmulDescDestroy(product_), lt::kSuccess);
    EXPECT_EQ(cublasLtDestroy(handle_), lt::kSuccess);
  }
  static Layout* matrix_of(int type) {
    Layout* made = nullptr;
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&made, type, 8, 8, 8), lt::kSuccess);
    return made;
  }
  int ask(Layout* matrix, Heuristic* results, int* found) {
    return cublasLtMatmulAlgoGetHeuristic(handle_, product_, matrix, matrix, matrix, matrix, preference_, 2, results,
                                          found);
  }
  void* handle_ = nullptr;
  Description* product_ = nullptr;
  Preference* preference_ = nullptr;
  Layout* matrix_ = nullptr;
};

TEST_F(CublasLt, a_layout_keeps_what_it_is_given) {
  const int batch = 5;
  ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(matrix_, lt::kLayoutBatch, &batch, sizeof batch), lt::kSuccess);
  int found = 0;
  size_t written = 0;
  ASSERT_EQ(cublasLtMatrixLayoutGetAttribute(matrix_, lt::kLayoutBatch, &found, sizeof found, &written), lt::kSuccess);
  EXPECT_EQ(found, batch);
  EXPECT_EQ(written, sizeof found);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(matrix_, lt::kLayoutBatch, &batch, 2), lt::kInvalidValue);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(matrix_, 99, &batch, sizeof batch), lt::kNotSupported);
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(matrix_, lt::kLayoutRows, &found, sizeof found, &written),
            lt::kInvalidValue);  // rows are 64 bits wide
}

TEST_F(CublasLt, an_attribute_that_was_never_set_is_not_zero_but_unknown) {
  int found = 7;
  size_t written = 7;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(product_, kTransposeB, &found, sizeof found, &written), lt::kNotSupported);
  const int value = 1;
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product_, kTransposeB, &value, sizeof value), lt::kSuccess);
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(product_, kTransposeB, &found, sizeof found, &written), lt::kSuccess);
  EXPECT_EQ(found, value);
  const size_t limit = 1 << 20;
  size_t kept = 0;
  ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(preference_, lt::kMaxWorkspace, &limit, sizeof limit), lt::kSuccess);
  ASSERT_EQ(cublasLtMatmulPreferenceGetAttribute(preference_, lt::kMaxWorkspace, &kept, sizeof kept, &written),
            lt::kSuccess);
  EXPECT_EQ(kept, limit);
}

TEST_F(CublasLt, one_algorithm_without_a_workspace_is_offered) {
  Heuristic results[2];
  std::memset(static_cast<void*>(results), 0x5A, sizeof results);
  int found = 7;
  ASSERT_EQ(ask(matrix_, results, &found), lt::kSuccess);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(results[0].workspace_bytes, 0u);
  EXPECT_EQ(results[0].state, lt::kSuccess);
}

TEST_F(CublasLt, eight_bit_floats_are_refused_by_a_card_of_8_6) {
  Layout* narrow = matrix_of(vramfit::library::kFloat8E4M3);
  Heuristic results[2];
  int found = 7;
  EXPECT_EQ(ask(narrow, results, &found), lt::kNotSupported);
  EXPECT_EQ(found, 0);
  const Algorithm algorithm;
  EXPECT_EQ(cublasLtMatmul(handle_, product_, nullptr, nullptr, narrow, nullptr, narrow, nullptr, nullptr, narrow,
                           nullptr, narrow, &algorithm, nullptr, 0, nullptr),
            lt::kNotSupported);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(narrow), lt::kSuccess);
}

TEST_F(CublasLt, a_product_is_one_launch) {
  const uint64_t before = vramfit_gpu_launches();
  const Algorithm algorithm;
  ASSERT_EQ(cublasLtMatmul(handle_, product_, nullptr, nullptr, matrix_, nullptr, matrix_, nullptr, nullptr, matrix_,
                           nullptr, matrix_, &algorithm, nullptr, 0, nullptr),
            lt::kSuccess);
  EXPECT_EQ(vramfit_gpu_launches(), before + 1);
}

TEST(CublasLtErrors, what_is_missing_is_invalid) {
  int found = 7;
  Heuristic result;
  EXPECT_EQ(cublasLtCreate(nullptr), lt::kInvalidValue);
  EXPECT_EQ(cublasLtMatrixLayoutCreate(nullptr, 0, 1, 1, 1), lt::kInvalidValue);
  EXPECT_EQ(
      cublasLtMatmulAlgoGetHeuristic(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, &result, &found),
      lt::kInvalidValue);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(cublasLtGetVersion() / 10000, static_cast<size_t>(VRAMFIT_TEST_MAJOR));
}

}  // namespace
