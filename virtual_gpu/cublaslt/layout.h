// The three kinds of object a cublasLt product is described with. Attribute numbers and widths from the cuBLAS 13
// documentation (cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t,
// cublasLtMatmulPreferenceAttributes_t).
#ifndef VRAMFIT_VIRTUAL_GPU_CUBLASLT_LAYOUT_H
#define VRAMFIT_VIRTUAL_GPU_CUBLASLT_LAYOUT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace vramfit::cublaslt {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kInvalidValue = 7, kNotSupported = 15 };

struct Layout {
  int32_t type = 0;  // cudaDataType_t
  int32_t order = 0;
  uint64_t rows = 0, columns = 0;
  int64_t lead = 0;
  int32_t batch = 1;
  int64_t batch_stride = 0, plane_offset = 0;
};

enum LayoutAttribute : int {
  kLayoutType = 0,
  kLayoutOrder = 1,
  kLayoutRows = 2,
  kLayoutColumns = 3,
  kLayoutLead = 4,
  kLayoutBatch = 5,
  kLayoutBatchStride = 6,
  kLayoutPlaneOffset = 7
};

// Attributes of a product or a preference, kept as the caller gave them.
using Attributes = std::map<int, std::vector<std::byte>>;

inline constexpr int kTransposeA = 3;        // CUBLASLT_MATMUL_DESC_TRANSA
inline constexpr int kLastDescription = 64;  // no release numbers its product attributes further
inline constexpr int kMaxWorkspace = 1;      // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

struct Description {
  int32_t compute = 0, scale = 0;
  Attributes attributes;
};

struct Preference {
  Attributes attributes;
};

// cublasLtMatmulAlgo_t is 64 opaque bytes; ours holds one 32-bit value per cublasLtMatmulAlgoConfigAttributes_t.
struct Algorithm {
  std::array<int32_t, 16> values{};
};
static_assert(sizeof(Algorithm) == 64);

struct Heuristic {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  int32_t state;
  float waves;
  int32_t reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

}  // namespace vramfit::cublaslt

#endif
