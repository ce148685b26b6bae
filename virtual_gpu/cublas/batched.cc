// Batched factorisations whose `info` is a host integer: 0, every argument was valid. Results on the device stay zeros.
#include "virtual_gpu/cublas/handle.h"

using vramfit::cublas::Handle;
namespace cublas = vramfit::cublas;
namespace library = vramfit::library;

namespace {

int factorise(Handle* handle, int* info) {
  if (handle == nullptr) return cublas::kNotInitialized;
  if (info == nullptr) return cublas::kInvalidValue;
  *info = 0;
  library::launch(handle->stream);
  return cublas::kSuccess;
}

}  // namespace

// geqrfBatched(handle, m, n, A, lda, tau, info, batch)
// getrsBatched(handle, transpose, n, right sides, A, lda, pivots, B, ldb, info, batch)
// gelsBatched(handle, transpose, m, n, right sides, A, lda, C, ldc, info, device infos, batch)
#define VF_CUBLAS_BATCHED_SOLVERS(Letter)                                                                             \
  VF_ABI int cublas##Letter##geqrfBatched(Handle* handle, int, int, void*, int, void*, int* info, int) {              \
    return factorise(handle, info);                                                                                   \
  }                                                                                                                   \
  VF_ABI int cublas##Letter##getrsBatched(Handle* handle, int, int, int, void*, int, const int*, void*, int,          \
                                          int* info, int) {                                                           \
    return factorise(handle, info);                                                                                   \
  }                                                                                                                   \
  VF_ABI int cublas##Letter##gelsBatched(Handle* handle, int, int, int, int, void*, int, void*, int, int* info, int*, \
                                         int) {                                                                       \
    return factorise(handle, info);                                                                                   \
  }

VF_CUBLAS_BATCHED_SOLVERS(S)
VF_CUBLAS_BATCHED_SOLVERS(D)
VF_CUBLAS_BATCHED_SOLVERS(C)
VF_CUBLAS_BATCHED_SOLVERS(Z)
