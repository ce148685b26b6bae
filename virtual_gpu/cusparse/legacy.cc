// The older typed interface: sorting, adding sparse matrices, and block-sparse solves.
#include "virtual_gpu/cusparse/descriptor.h"

using vramfit::cusparse::Handle;
namespace cusparse = vramfit::cusparse;
namespace ledger = vramfit::ledger;

namespace {

int launch(const Handle* handle) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  vramfit::library::launch(handle->stream);
  return cusparse::kSuccess;
}

// A radix sort needs a second copy of both index arrays.
int sort_buffer(int nonzeros, size_t* bytes) {
  if (bytes == nullptr) return cusparse::kInvalidValue;
  ledger::note_assumed("cuSPARSE sort buffers: a second copy of both index arrays");
  *bytes = static_cast<size_t>(nonzeros) * 2 * sizeof(int) + 512;
  return cusparse::kSuccess;
}

int solve_buffer(int blocks, int* bytes) {
  if (bytes == nullptr) return cusparse::kInvalidValue;
  ledger::note_assumed("cuSPARSE block solve buffers: two indices per block");
  *bytes = blocks * 8 + 512;
  return cusparse::kSuccess;
}

int no_zero_pivot(int* position) {
  if (position == nullptr) return cusparse::kInvalidValue;
  *position = -1;
  return cusparse::kSuccess;
}

}  // namespace

VF_ABI int cusparseXcoosort_bufferSizeExt(Handle*, int, int, int nonzeros, const int*, const int*, size_t* bytes) {
  return sort_buffer(nonzeros, bytes);
}

VF_ABI int cusparseXcsrsort_bufferSizeExt(Handle*, int, int, int nonzeros, const int*, const int*, size_t* bytes) {
  return sort_buffer(nonzeros, bytes);
}

VF_ABI int cusparseXcoosortByRow(Handle* handle, int, int, int, int*, int*, int*, void*) { return launch(handle); }
VF_ABI int cusparseXcsrsort(Handle* handle, int, int, int, const void*, const int*, int*, int*, void*) {
  return launch(handle);
}
VF_ABI int cusparseXcoo2csr(Handle* handle, const int*, int, int, int*, int) { return launch(handle); }
VF_ABI int cusparseCreateIdentityPermutation(Handle* handle, int, int*) { return launch(handle); }

// How many nonzeros A + B has depends on where they lie: no more than both together.
VF_ABI int cusparseXcsrgeam2Nnz(Handle* handle, int, int, const void*, int nonzeros_a, const int*, const int*,
                                const void*, int nonzeros_b, const int*, const int*, const void*, int*, int* total,
                                void*) {
  if (total == nullptr) return cusparse::kInvalidValue;
  ledger::note_data_read("nonzeros of a sparse sum: taken as those of both matrices together");
  *total = nonzeros_a + nonzeros_b;
  return launch(handle);
}

#define VF_CUSPARSE_TYPED(T)                                                                                         \
  VF_ABI int cusparse##T##csrgeam2_bufferSizeExt(Handle*, int rows, int, const void*, const void*, int, const void*, \
                                                 const int*, const int*, const void*, const void*, int, const void*, \
                                                 const int*, const int*, const void*, const void*, const int*,       \
                                                 const int*, size_t* bytes) {                                        \
    if (bytes == nullptr) return cusparse::kInvalidValue;                                                            \
    *bytes = static_cast<size_t>(rows) * sizeof(int) + 512;                                                          \
    return cusparse::kSuccess;                                                                                       \
  }                                                                                                                  \
  VF_ABI int cusparse##T##csrgeam2(Handle* handle) { return launch(handle); }                                        \
  VF_ABI int cusparse##T##bsrmm(Handle* handle) { return launch(handle); }                                           \
  VF_ABI int cusparse##T##bsrmv(Handle* handle) { return launch(handle); }                                           \
  VF_ABI int cusparse##T##bsrsv2_bufferSize(Handle*, int, int, int, int blocks, const void*, void*, const int*,      \
                                            const int*, int, void*, int* bytes) {                                    \
    return solve_buffer(blocks, bytes);                                                                              \
  }                                                                                                                  \
  VF_ABI int cusparse##T##bsrsv2_analysis(Handle* handle) { return launch(handle); }                                 \
  VF_ABI int cusparse##T##bsrsv2_solve(Handle* handle) { return launch(handle); }                                    \
  VF_ABI int cusparse##T##bsrsm2_bufferSize(Handle*, int, int, int, int, int, int blocks, const void*, void*,        \
                                            const int*, const int*, int, void*, int* bytes) {                        \
    return solve_buffer(blocks, bytes);                                                                              \
  }                                                                                                                  \
  VF_ABI int cusparse##T##bsrsm2_analysis(Handle* handle) { return launch(handle); }                                 \
  VF_ABI int cusparse##T##bsrsm2_solve(Handle* handle) { return launch(handle); }

// The work functions take many arguments after the handle; with the C calling convention they may be left unread.
VF_CUSPARSE_TYPED(S)
VF_CUSPARSE_TYPED(D)
VF_CUSPARSE_TYPED(C)
VF_CUSPARSE_TYPED(Z)

VF_ABI int cusparseXbsrsv2_zeroPivot(Handle*, void*, int* position) { return no_zero_pivot(position); }
VF_ABI int cusparseXbsrsm2_zeroPivot(Handle*, void*, int* position) { return no_zero_pivot(position); }
