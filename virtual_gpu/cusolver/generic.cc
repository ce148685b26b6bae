// The 64-bit "X" API: sizes are bytes, on the device and on the host.
#include "virtual_gpu/cusolver/answer.h"
#include "virtual_gpu/cusolver/workspace.h"
#include "virtual_gpu/library/data_type.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;
namespace library = vramfit::library;

namespace {

int64_t size_of(int type) { return library::bytes_of(type, 1); }

}  // namespace

VF_ABI int cusolverDnXpotrf_bufferSize(Handle* handle, void*, int, int64_t n, int, const void*, int64_t, int,
                                       size_t* device, size_t* host) {
  return cusolver::answer_bytes(handle, device, host, cusolver::cholesky_bytes(n));
}

VF_ABI int cusolverDnXgeqrf_bufferSize(Handle* handle, void*, int64_t, int64_t n, int type, const void*, int64_t, int,
                                       const void*, int, size_t* device, size_t* host) {
  return cusolver::answer_bytes(handle, device, host, cusolver::qr_bytes(n, size_of(type)));
}

VF_ABI int cusolverDnXsyevd_bufferSize(Handle* handle, void*, int, int, int64_t n, int type, const void*, int64_t, int,
                                       const void*, int, size_t* device, size_t* host) {
  return cusolver::answer_bytes(handle, device, host, cusolver::symmetric_bytes(n, 1, size_of(type)));
}

VF_ABI int cusolverDnXsyevBatched_bufferSize(Handle* handle, void*, int, int, int64_t n, int type, const void*, int64_t,
                                             int, const void*, int, size_t* device, size_t* host, int64_t batch) {
  return cusolver::answer_bytes(handle, device, host, cusolver::symmetric_bytes(n, batch, size_of(type)));
}

// handle, parameters, left, right, n, type A, A, lda, type W, W, type VL, VL, ldvl, type VR, VR, ldvr, compute, sizes.
// Measured with right vectors alone, as PyTorch asks; that eigvals asks for as much is assumed.
VF_ABI int cusolverDnXgeev_bufferSize(Handle* handle, void*, int, int, int64_t n, int type, const void*, int64_t, int,
                                      const void*, int, const void*, int64_t, int, const void*, int64_t, int,
                                      size_t* device, size_t* host) {
  return cusolver::answer_bytes(handle, device, host, cusolver::general_bytes(n, size_of(type)));
}

// handle, uplo, n, right sides, type A, A, lda, pivots, type B, B, ldb, sizes
VF_ABI int cusolverDnXsytrs_bufferSize(Handle* handle, int, int64_t n, int64_t right_sides, int type, const void*,
                                       int64_t, const int64_t*, int, const void*, int64_t, size_t* device,
                                       size_t* host) {
  return cusolver::answer_bytes(handle, device, host, library::bytes_of(type, n * right_sides), cusolver::kGuessed);
}
