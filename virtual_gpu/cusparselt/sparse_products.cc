// 2:4 structured sparsity. The descriptors are the caller's own opaque structs (512 bytes or more in every version):
// what is kept of them fits into their first 64 bytes. Sizes follow the documentation of cuSPARSELt: half of the values
// are kept, with 2 bits of metadata for each kept 16-bit value.
#include <cstring>

#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cusparselt {
namespace {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 2, kInvalidValue = 3, kNotSupported = 10 };

struct Matrix {
  int64_t rows, columns;
  int32_t type;
  int32_t structured;
};

struct Product {
  int64_t rows, inner, columns;  // D[rows, columns] = A[rows, inner] x B[inner, columns]
  int32_t type;
};

struct Selection {
  int32_t algorithm, splits, search_iterations;
};
static_assert(sizeof(Matrix) <= 64 && sizeof(Product) <= 64 && sizeof(Selection) <= 64);

// Attributes of cusparseLtMatmulAlgAttribute_t.
enum Attribute : int { kConfigId = 0, kConfigMaxId = 1, kSearchIterations = 2, kSplitK = 3, kSplitKMode = 4 };

template <typename T>
int keep(void* opaque, const T& value) {
  if (opaque == nullptr) return kInvalidValue;
  std::memcpy(opaque, &value, sizeof value);
  return kSuccess;
}

template <typename T>
T kept(const void* opaque) {
  T value;
  std::memcpy(&value, opaque, sizeof value);
  return value;
}

int64_t compressed_bytes(const Matrix& matrix) {
  const int64_t dense = library::bytes_of(matrix.type, matrix.rows * matrix.columns);
  return dense / 2 + matrix.rows * matrix.columns / 2 / 4;
}

}  // namespace
}  // namespace vramfit::cusparselt

using vramfit::library::Stream;
namespace lt = vramfit::cusparselt;
namespace ledger = vramfit::ledger;
namespace library = vramfit::library;

VF_ABI int cusparseLtInit(void* handle) {
  if (handle == nullptr) return lt::kInvalidValue;
  if (ledger::state() != ledger::State::kReady) return lt::kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kSparseLt)) return lt::kAllocFailed;
  return lt::keep(handle, int64_t{1});
}

VF_ABI int cusparseLtDestroy(const void*) { return lt::kSuccess; }

VF_ABI int cusparseLtDenseDescriptorInit(const void*, void* matrix, int64_t rows, int64_t columns, int64_t, uint32_t,
                                         int type, int) {
  return lt::keep(matrix, lt::Matrix{rows, columns, type, 0});
}

VF_ABI int cusparseLtStructuredDescriptorInit(const void*, void* matrix, int64_t rows, int64_t columns, int64_t,
                                              uint32_t, int type, int, int) {
  return lt::keep(matrix, lt::Matrix{rows, columns, type, 1});
}

VF_ABI int cusparseLtMatDescriptorDestroy(const void*) { return lt::kSuccess; }

VF_ABI int cusparseLtMatmulDescriptorInit(const void*, void* product, int op_a, int, const void* a, const void*,
                                          const void*, const void* d, int) {
  if (a == nullptr || d == nullptr) return lt::kInvalidValue;
  const auto left = lt::kept<lt::Matrix>(a);
  const auto out = lt::kept<lt::Matrix>(d);
  const int64_t inner = op_a == 0 ? left.columns : left.rows;  // CUSPARSE_OPERATION_NON_TRANSPOSE is 0
  return lt::keep(product, lt::Product{out.rows, inner, out.columns, left.type});
}

VF_ABI int cusparseLtMatmulDescSetAttribute(const void*, void*, int, const void*, size_t) { return lt::kSuccess; }

VF_ABI int cusparseLtMatmulAlgSelectionInit(const void*, void* selection, const void*, int) {
  return lt::keep(selection, lt::Selection{0, 1, 1});
}

VF_ABI int cusparseLtMatmulAlgSetAttribute(const void*, void* selection, int attribute, const void* data,
                                           size_t bytes) {
  if (selection == nullptr || data == nullptr || bytes < sizeof(int32_t)) return lt::kInvalidValue;
  auto chosen = lt::kept<lt::Selection>(selection);
  const auto value = lt::kept<int32_t>(data);
  if (attribute == lt::kConfigId) chosen.algorithm = value;
  if (attribute == lt::kSearchIterations) chosen.search_iterations = value;
  if (attribute == lt::kSplitK) chosen.splits = value;
  return lt::keep(selection, chosen);
}

VF_ABI int cusparseLtMatmulAlgGetAttribute(const void*, const void* selection, int attribute, void* data,
                                           size_t bytes) {
  if (selection == nullptr || data == nullptr || bytes < sizeof(int32_t)) return lt::kInvalidValue;
  const auto chosen = lt::kept<lt::Selection>(selection);
  std::memset(data, 0, bytes);
  switch (attribute) {
    case lt::kConfigId:
      return lt::keep(data, chosen.algorithm);
    case lt::kConfigMaxId:
      return lt::keep(data, int32_t{1});
    case lt::kSearchIterations:
      return lt::keep(data, chosen.search_iterations);
    case lt::kSplitK:
      return lt::keep(data, chosen.splits);
    case lt::kSplitKMode:
      return lt::keep(data, int32_t{0});
    default:
      return lt::kNotSupported;
  }
}

VF_ABI int cusparseLtMatmulPlanInit(const void*, void* plan, const void* product, const void*) {
  if (product == nullptr) return lt::kInvalidValue;
  return lt::keep(plan, lt::kept<lt::Product>(product));
}

VF_ABI int cusparseLtMatmulPlanDestroy(const void*) { return lt::kSuccess; }

VF_ABI int cusparseLtMatmulGetWorkspace(const void*, const void* plan, size_t* bytes) {
  if (bytes == nullptr) return lt::kInvalidValue;
  *bytes = 0;
  if (plan == nullptr) return lt::kInvalidValue;
  ledger::note_assumed("cuSPARSELt products: no workspace (split-K is not chosen)");
  return lt::kSuccess;
}

VF_ABI int cusparseLtMatmul(const void*, const void* plan, const void*, const void*, const void*, const void*,
                            const void*, void*, void*, Stream* streams, int count) {
  if (plan == nullptr) return lt::kInvalidValue;
  const auto product = lt::kept<lt::Product>(plan);
  const int64_t multiply_adds = product.rows * product.inner / 2 * product.columns;
  const int64_t bytes =
      library::bytes_of(product.type, product.rows * product.inner / 2 + product.inner * product.columns +
                                          product.rows * product.columns);
  library::run(count > 0 && streams != nullptr ? streams[0] : nullptr,
               {VF_RECORD_MATMUL, library::rate_of(product.type), multiply_adds, bytes}, "cusparseLtMatmul");
  return lt::kSuccess;
}

VF_ABI int cusparseLtMatmulSearch(const void* handle, const void* plan, const void* alpha, const void* a, const void* b,
                                  const void* beta, const void* c, void* d, void* workspace, Stream* streams,
                                  int count) {
  return cusparseLtMatmul(handle, plan, alpha, a, b, beta, c, d, workspace, streams, count);
}

VF_ABI int cusparseLtSpMMACompressedSize2(const void*, const void* matrix, size_t* bytes, size_t* buffer_bytes) {
  if (matrix == nullptr || bytes == nullptr || buffer_bytes == nullptr) return lt::kInvalidValue;
  *bytes = static_cast<size_t>(lt::compressed_bytes(lt::kept<lt::Matrix>(matrix)));
  *buffer_bytes = 0;
  return lt::kSuccess;
}

VF_ABI int cusparseLtSpMMACompress2(const void*, const void*, int, int, const void*, void*, void*, Stream stream) {
  library::launch(stream);
  return lt::kSuccess;
}
