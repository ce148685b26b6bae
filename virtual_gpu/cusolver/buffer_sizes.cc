// The *_bufferSize family of the typed API: `lwork` counts elements of the routine's type.
#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/cusolver/workspace.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;

namespace {

int answer_elements(Handle* handle, int* out, int64_t elements) {
  if (handle == nullptr) return cusolver::kNotInitialized;
  if (out == nullptr) return cusolver::kInvalidValue;
  *out = static_cast<int>(std::min<int64_t>(elements, INT32_MAX));
  vramfit::ledger::note_assumed("cuSOLVER workspaces follow the LAPACK routines they are modelled on");
  return cusolver::kSuccess;
}

}  // namespace

#define VF_FACTORISATIONS(L)                                                                                           \
  VF_ABI int cusolverDn##L##potrf_bufferSize(Handle* handle, int, int n, void*, int, int* size) {                      \
    return answer_elements(handle, size, cusolver::cholesky_elements(n));                                              \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##getrf_bufferSize(Handle* handle, int m, int n, void*, int, int* size) {                    \
    return answer_elements(handle, size, cusolver::lu_elements(m, n));                                                 \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##geqrf_bufferSize(Handle* handle, int m, int n, void*, int, int* size) {                    \
    return answer_elements(handle, size, cusolver::qr_elements(m, n));                                                 \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##sytrf_bufferSize(Handle* handle, int n, void*, int, int* size) {                           \
    return answer_elements(handle, size, cusolver::ldl_elements(n));                                                   \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##gesvd_bufferSize(Handle* handle, int m, int n, int* size) {                                \
    return answer_elements(handle, size, cusolver::gesvd_elements(m, n));                                              \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##gesvdj_bufferSize(Handle* handle, int, int, int m, int n, const void*, int, const void*,   \
                                              const void*, int, const void*, int, int* size, void*) {                  \
    return answer_elements(handle, size, cusolver::jacobi_elements(m, n, 1));                                          \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##gesvdjBatched_bufferSize(Handle* handle, int, int m, int n, const void*, int, const void*, \
                                                     const void*, int, const void*, int, int* size, void*,             \
                                                     int batch) {                                                      \
    return answer_elements(handle, size, cusolver::jacobi_elements(m, n, batch));                                      \
  }                                                                                                                    \
  VF_ABI int cusolverDn##L##gesvdaStridedBatched_bufferSize(                                                           \
      Handle* handle, int, int, int m, int n, const void*, int, long long, const void*, long long, const void*, int,   \
      long long, const void*, int, long long, int* size, int batch) {                                                  \
    return answer_elements(handle, size, cusolver::jacobi_elements(m, n, batch));                                      \
  }

VF_FACTORISATIONS(S)
VF_FACTORISATIONS(D)
VF_FACTORISATIONS(C)
VF_FACTORISATIONS(Z)

// Orthogonal and unitary factors, symmetric and Hermitian eigenvalues differ only in their names.
#define VF_ORTHOGONAL(L, gqr, mqr, evd, evj)                                                                         \
  VF_ABI int cusolverDn##L##gqr##_bufferSize(Handle* handle, int m, int n, int, const void*, int, const void*,       \
                                             int* size) {                                                            \
    return answer_elements(handle, size, cusolver::qr_elements(m, n));                                               \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##mqr##_bufferSize(Handle* handle, int, int, int m, int n, int, const void*, int,          \
                                             const void*, const void*, int, int* size) {                             \
    return answer_elements(handle, size, cusolver::qr_elements(m, n));                                               \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##evd##_bufferSize(Handle* handle, int vectors, int, int n, const void*, int, const void*, \
                                             int* size) {                                                            \
    return answer_elements(handle, size, cusolver::syevd_elements(n, vectors != 0));                                 \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##evj##_bufferSize(Handle* handle, int, int, int n, const void*, int, const void*,         \
                                             int* size, void*) {                                                     \
    return answer_elements(handle, size, cusolver::jacobi_elements(n, n, 1));                                        \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##evj##Batched_bufferSize(Handle* handle, int, int, int n, const void*, int, const void*,  \
                                                    int* size, void*, int batch) {                                   \
    return answer_elements(handle, size, cusolver::jacobi_elements(n, n, batch));                                    \
  }

VF_ORTHOGONAL(S, orgqr, ormqr, syevd, syevj)
VF_ORTHOGONAL(D, orgqr, ormqr, syevd, syevj)
VF_ORTHOGONAL(C, ungqr, unmqr, heevd, heevj)
VF_ORTHOGONAL(Z, ungqr, unmqr, heevd, heevj)
