// The 64-bit "X" API: sizes are bytes, on the device and on the host.
#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/cusolver/workspace.h"
#include "virtual_gpu/library/data_type.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;
namespace library = vramfit::library;

namespace {

constexpr int kVectors = 1;  // CUSOLVER_EIG_MODE_VECTOR

int answer_bytes(Handle* handle, size_t* device, size_t* host, int64_t elements, int type) {
  if (handle == nullptr) return cusolver::kNotInitialized;
  if (device == nullptr || host == nullptr) return cusolver::kInvalidValue;
  *device = static_cast<size_t>(library::bytes_of(type, elements));
  *host = 0;
  vramfit::ledger::note_assumed("cuSOLVER workspaces follow the LAPACK routines they are modelled on");
  return cusolver::kSuccess;
}

}  // namespace

VF_ABI int cusolverDnXpotrf_bufferSize(Handle* handle, void*, int, int64_t n, int type, const void*, int64_t, int,
                                       size_t* device, size_t* host) {
  return answer_bytes(handle, device, host, cusolver::cholesky_elements(n), type);
}

VF_ABI int cusolverDnXgeqrf_bufferSize(Handle* handle, void*, int64_t m, int64_t n, int type, const void*, int64_t, int,
                                       const void*, int, size_t* device, size_t* host) {
  return answer_bytes(handle, device, host, cusolver::qr_elements(m, n), type);
}

VF_ABI int cusolverDnXsyevd_bufferSize(Handle* handle, void*, int vectors, int, int64_t n, int type, const void*,
                                       int64_t, int, const void*, int, size_t* device, size_t* host) {
  return answer_bytes(handle, device, host, cusolver::syevd_elements(n, vectors == kVectors), type);
}

VF_ABI int cusolverDnXsyevBatched_bufferSize(Handle* handle, void*, int, int, int64_t n, int type, const void*, int64_t,
                                             int, const void*, int, size_t* device, size_t* host, int64_t batch) {
  return answer_bytes(handle, device, host, cusolver::jacobi_elements(n, n, batch), type);
}

// handle, parameters, left, right, n, type A, A, lda, type W, W, type VL, VL, ldvl, type VR, VR, ldvr, compute, sizes
VF_ABI int cusolverDnXgeev_bufferSize(Handle* handle, void*, int, int, int64_t n, int type, const void*, int64_t, int,
                                      const void*, int, const void*, int64_t, int, const void*, int64_t, int,
                                      size_t* device, size_t* host) {
  return answer_bytes(handle, device, host, cusolver::geev_elements(n), type);
}

// handle, uplo, n, right sides, type A, A, lda, pivots, type B, B, ldb, sizes
VF_ABI int cusolverDnXsytrs_bufferSize(Handle* handle, int, int64_t n, int64_t right_sides, int type, const void*,
                                       int64_t, const int64_t*, int, const void*, int64_t, size_t* device,
                                       size_t* host) {
  return answer_bytes(handle, device, host, n * right_sides, type);
}
