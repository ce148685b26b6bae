// The *_bufferSize family of the typed API: `lwork` counts elements of the routine's type.
#include "virtual_gpu/cusolver/answer.h"
#include "virtual_gpu/cusolver/workspace.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;

// `bytes`: of an element.
#define VF_FACTORISATIONS(L, bytes)                                                                                  \
  VF_ABI int cusolverDn##L##potrf_bufferSize(Handle* handle, int, int n, void*, int, int* size) {                    \
    return cusolver::answer_elements(handle, size, cusolver::cholesky_bytes(n), bytes);                              \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##getrf_bufferSize(Handle* handle, int m, int n, void*, int, int* size) {                  \
    return cusolver::answer_elements(handle, size, cusolver::lu_bytes(m, n, bytes, cusolver::multiprocessors()),     \
                                     bytes);                                                                         \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##geqrf_bufferSize(Handle* handle, int, int n, void*, int, int* size) {                    \
    return cusolver::answer_elements(handle, size, cusolver::qr_bytes(n, bytes), bytes);                             \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##sytrf_bufferSize(Handle* handle, int n, void*, int, int* size) {                         \
    return cusolver::answer_elements(handle, size, cusolver::indefinite_bytes(n, bytes), bytes, cusolver::kGuessed); \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##gesvd_bufferSize(Handle* handle, int m, int n, int* size) {                              \
    return cusolver::answer_elements(handle, size, cusolver::singular_bytes(m, n, bytes), bytes);                    \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##gesvdj_bufferSize(Handle* handle, int, int, int m, int n, const void*, int, const void*, \
                                              const void*, int, const void*, int, int* size, void*) {                \
    return cusolver::answer_elements(handle, size, cusolver::singular_jacobi_bytes(m, n, bytes), bytes);             \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##gesvdjBatched_bufferSize(Handle* handle, int, int, int, const void*, int, const void*,   \
                                                     const void*, int, const void*, int, int* size, void*, int) {    \
    return cusolver::answer_elements(handle, size, cusolver::singular_jacobi_batched_bytes(bytes), bytes);           \
  }                                                                                                                  \
  VF_ABI int cusolverDn##L##gesvdaStridedBatched_bufferSize(                                                         \
      Handle* handle, int, int, int m, int n, const void*, int, long long, const void*, long long, const void*, int, \
      long long, const void*, int, long long, int* size, int batch) {                                                \
    return cusolver::answer_elements(handle, size, cusolver::guessed_jacobi_bytes(m, n, batch, bytes), bytes,        \
                                     cusolver::kGuessed);                                                            \
  }

VF_FACTORISATIONS(S, 4)
VF_FACTORISATIONS(D, 8)
VF_FACTORISATIONS(C, 8)
VF_FACTORISATIONS(Z, 16)

// Orthogonal and unitary factors, symmetric and Hermitian eigenvalues differ only in their names. A product from the
// right works on the transposed: assumed, only ones from the left were measured.
#define VF_ORTHOGONAL(L, bytes, gqr, mqr, evd, evj)                                                                 \
  VF_ABI int cusolverDn##L##gqr##_bufferSize(Handle* handle, int m, int n, int k, const void*, int, const void*,    \
                                             int* size) {                                                           \
    return cusolver::answer_elements(handle, size, cusolver::orthogonal_bytes(m, n, k, bytes), bytes);              \
  }                                                                                                                 \
  VF_ABI int cusolverDn##L##mqr##_bufferSize(Handle* handle, int right, int, int m, int n, int k, const void*, int, \
                                             const void*, const void*, int, int* size) {                            \
    return cusolver::answer_elements(                                                                               \
        handle, size, cusolver::multiply_bytes(right != 0 ? n : m, right != 0 ? m : n, k, bytes), bytes);           \
  }                                                                                                                 \
  VF_ABI int cusolverDn##L##evd##_bufferSize(Handle* handle, int, int, int n, const void*, int, const void*,        \
                                             int* size) {                                                           \
    return cusolver::answer_elements(handle, size, cusolver::symmetric_bytes(n, 1, bytes), bytes);                  \
  }                                                                                                                 \
  VF_ABI int cusolverDn##L##evj##_bufferSize(Handle* handle, int, int, int n, const void*, int, const void*,        \
                                             int* size, void*) {                                                    \
    return cusolver::answer_elements(handle, size, cusolver::symmetric_jacobi_bytes(n, bytes), bytes);              \
  }                                                                                                                 \
  VF_ABI int cusolverDn##L##evj##Batched_bufferSize(Handle* handle, int, int, int n, const void*, int, const void*, \
                                                    int* size, void*, int batch) {                                  \
    return cusolver::answer_elements(handle, size, cusolver::guessed_jacobi_bytes(n, n, batch, bytes), bytes,       \
                                     cusolver::kGuessed);                                                           \
  }

VF_ORTHOGONAL(S, 4, orgqr, ormqr, syevd, syevj)
VF_ORTHOGONAL(D, 8, orgqr, ormqr, syevd, syevj)
VF_ORTHOGONAL(C, 8, ungqr, unmqr, heevd, heevj)
VF_ORTHOGONAL(Z, 16, ungqr, unmqr, heevd, heevj)
