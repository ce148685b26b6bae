// Products and solves of the generic interface. Their work buffers have no published formula: each is taken to be one
// row index and one partial value per nonzero or per row, whichever the algorithm walks, and the session says so.
#include <algorithm>

#include "virtual_gpu/cusparse/descriptor.h"

using vramfit::cusparse::Dense;
using vramfit::cusparse::Handle;
using vramfit::cusparse::Sparse;
using vramfit::cusparse::Steps;
namespace cusparse = vramfit::cusparse;
namespace ledger = vramfit::ledger;
namespace library = vramfit::library;

namespace {

constexpr int64_t kAlignment = 512;  // what cudaMalloc-like buffers inside the library are rounded to

int64_t rounded(int64_t bytes) { return (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

int64_t per_row(const Sparse& matrix) {
  return rounded(matrix.batches * matrix.rows * (matrix.index_bytes + library::bytes_of(matrix.value_type, 1)));
}

int64_t per_nonzero(const Sparse& matrix) {
  return rounded(matrix.batches * matrix.nonzeros * (matrix.index_bytes + library::bytes_of(matrix.value_type, 1)));
}

int answer_size(size_t* bytes, int64_t value) {
  if (bytes == nullptr) return cusparse::kInvalidValue;
  ledger::note_assumed("cuSPARSE work buffers: one index and one value per row or per nonzero");
  *bytes = static_cast<size_t>(value);
  return cusparse::kSuccess;
}

// Every nonzero of A meets every column of B once.
int multiply(const Handle* handle, const Sparse* a, int64_t columns, const char* function) {
  if (handle == nullptr || a == nullptr) return cusparse::kInvalidValue;
  const int64_t products = a->batches * a->nonzeros * columns;
  const int64_t bytes = 2 * library::bytes_of(a->value_type, products) + per_nonzero(*a);
  library::run(handle->stream, {VF_RECORD_MATMUL, library::rate_of(a->value_type), products, bytes}, function);
  return cusparse::kSuccess;
}

// How many nonzeros A x B has depends on where they lie: the figure for nonzeros spread evenly.
int64_t expected_nonzeros(const Sparse& a, const Sparse& b) {
  const int64_t per_b_row = b.rows > 0 ? (b.nonzeros + b.rows - 1) / b.rows : 0;
  return std::min(a.rows * b.columns, a.nonzeros * per_b_row);
}

}  // namespace

VF_ABI int cusparseSpMM_bufferSize(Handle*, int, int, const void*, const Sparse* a, const Dense*, const void*, Dense*,
                                   int, int, size_t* bytes) {
  return a == nullptr ? static_cast<int>(cusparse::kInvalidValue) : answer_size(bytes, per_row(*a));
}

VF_ABI int cusparseSpMM(Handle* handle, int, int, const void*, const Sparse* a, const Dense*, const void*, Dense* c,
                        int, int, void*) {
  return c == nullptr ? static_cast<int>(cusparse::kInvalidValue) : multiply(handle, a, c->columns, "cusparseSpMM");
}

VF_ABI int cusparseSpMV_bufferSize(Handle*, int, const void*, const Sparse* a, const Dense*, const void*, Dense*, int,
                                   int, size_t* bytes) {
  return a == nullptr ? static_cast<int>(cusparse::kInvalidValue) : answer_size(bytes, per_row(*a));
}

VF_ABI int cusparseSpMV(Handle* handle, int, const void*, const Sparse* a, const Dense*, const void*, Dense*, int, int,
                        void*) {
  return multiply(handle, a, 1, "cusparseSpMV");
}

VF_ABI int cusparseSDDMM_bufferSize(Handle*, int, int, const void*, const Dense*, const Dense*, const void*,
                                    const Sparse* c, int, int, size_t* bytes) {
  return c == nullptr ? static_cast<int>(cusparse::kInvalidValue) : answer_size(bytes, per_row(*c));
}

VF_ABI int cusparseSDDMM_preprocess(Handle* handle, int, int, const void*, const Dense*, const Dense*, const void*,
                                    const Sparse*, int, int, void*) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  library::launch(handle->stream);
  return cusparse::kSuccess;
}

VF_ABI int cusparseSDDMM(Handle* handle, int, int, const void*, const Dense* a, const Dense*, const void*,
                         const Sparse* c, int, int, void*) {
  return a == nullptr ? static_cast<int>(cusparse::kInvalidValue) : multiply(handle, c, a->columns, "cusparseSDDMM");
}

// The first call of a pair, without a buffer, asks for its size; the second does the work.
VF_ABI int cusparseSpGEMM_workEstimation(Handle* handle, int, int, const void*, const Sparse* a, const Sparse* b,
                                         const void*, Sparse* c, int, int, Steps* steps, size_t* bytes, void* buffer) {
  if (handle == nullptr || a == nullptr || b == nullptr || c == nullptr || steps == nullptr) {
    return cusparse::kInvalidValue;
  }
  if (buffer == nullptr) return answer_size(bytes, per_row(*a));
  steps->nonzeros = expected_nonzeros(*a, *b);
  library::launch(handle->stream);
  return cusparse::kSuccess;
}

VF_ABI int cusparseSpGEMM_compute(Handle* handle, int, int, const void*, const Sparse* a, const Sparse* b, const void*,
                                  Sparse* c, int, int, Steps* steps, size_t* bytes, void* buffer) {
  if (handle == nullptr || a == nullptr || b == nullptr || c == nullptr || steps == nullptr) {
    return cusparse::kInvalidValue;
  }
  Sparse result = *c;
  result.nonzeros = steps->nonzeros;
  if (buffer == nullptr) return answer_size(bytes, per_nonzero(result));
  c->nonzeros = steps->nonzeros;
  ledger::note_data_read("nonzeros of a sparse product: taken as if they were spread evenly");
  const int64_t per_b_row = b->rows > 0 ? (b->nonzeros + b->rows - 1) / b->rows : 0;
  return multiply(handle, a, per_b_row, "cusparseSpGEMM_compute");
}

VF_ABI int cusparseSpGEMM_copy(Handle* handle, int, int, const void*, const Sparse*, const Sparse*, const void*,
                               Sparse*, int, int, Steps*) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  library::launch(handle->stream);
  return cusparse::kSuccess;
}

VF_ABI int cusparseSpSV_bufferSize(Handle*, int, const void*, const Sparse* a, const Dense*, Dense*, int, int, Steps*,
                                   size_t* bytes) {
  return a == nullptr ? static_cast<int>(cusparse::kInvalidValue) : answer_size(bytes, per_nonzero(*a));
}

VF_ABI int cusparseSpSV_analysis(Handle* handle, int, const void*, const Sparse*, const Dense*, Dense*, int, int,
                                 Steps*, void*) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  library::launch(handle->stream);
  return cusparse::kSuccess;
}

VF_ABI int cusparseSpSV_solve(Handle* handle, int, const void*, const Sparse* a, const Dense*, Dense*, int, int,
                              Steps*) {
  return multiply(handle, a, 1, "cusparseSpSV_solve");
}

VF_ABI int cusparseSpSM_bufferSize(Handle*, int, int, const void*, const Sparse* a, const Dense*, Dense*, int, int,
                                   Steps*, size_t* bytes) {
  return a == nullptr ? static_cast<int>(cusparse::kInvalidValue) : answer_size(bytes, per_nonzero(*a));
}

VF_ABI int cusparseSpSM_analysis(Handle* handle, int, int, const void*, const Sparse*, const Dense*, Dense*, int, int,
                                 Steps*, void*) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  library::launch(handle->stream);
  return cusparse::kSuccess;
}

VF_ABI int cusparseSpSM_solve(Handle* handle, int, int, const void*, const Sparse* a, const Dense*, Dense* c, int, int,
                              Steps*) {
  return c == nullptr ? static_cast<int>(cusparse::kInvalidValue)
                      : multiply(handle, a, c->columns, "cusparseSpSM_solve");
}
