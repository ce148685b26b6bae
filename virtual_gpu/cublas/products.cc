// Matrix products: each is one launch and one VF_RECORD_MATMUL.
#include "virtual_gpu/cublas/handle.h"

using vramfit::cublas::Handle;
namespace cublas = vramfit::cublas;
namespace library = vramfit::library;

namespace {

struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int32_t a_type = library::kReal32, b_type = library::kReal32, c_type = library::kReal32;
};

int multiply(Handle* handle, const Product& p, vf_dtype rate, const char* function) {
  if (handle == nullptr) return cublas::kNotInitialized;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return cublas::kInvalidValue;
  library::Work work;
  work.type = rate;
  // A complex multiply-add is four real ones.
  work.multiply_adds = p.m * p.n * p.k * p.batch * (library::is_complex(p.a_type) ? 4 : 1);
  work.bytes = p.batch * (library::bytes_of(p.a_type, p.m * p.k) + library::bytes_of(p.b_type, p.k * p.n) +
                          library::bytes_of(p.c_type, p.m * p.n));
  library::run(handle->stream, work, function);
  return cublas::kSuccess;
}

int multiply(Handle* handle, int32_t type, int m, int n, int k, int batch, const char* function) {
  if (handle == nullptr) return cublas::kNotInitialized;
  return multiply(handle, Product{m, n, k, batch, type, type, type}, cublas::rate_under(*handle, type), function);
}

vf_dtype rate_of_compute(const Handle* handle, int32_t type, int compute) {
  if (handle == nullptr) return VF_OTHER;
  if (library::rate_of(type) == VF_F32 && compute == cublas::kComputeFastTf32) return VF_TF32;
  return cublas::rate_under(*handle, type);
}

}  // namespace

// Unnamed parameters, in order: transposes; alpha; A, lda; B, ldb; beta; C, ldc.
#define VF_CUBLAS_PRODUCTS(Letter, Type)                                                                               \
  VF_ABI int cublas##Letter##gemm_v2(Handle* handle, int, int, int m, int n, int k, const void*, const void*, int,     \
                                     const void*, int, const void*, void*, int) {                                      \
    return multiply(handle, Type, m, n, k, 1, "gemm");                                                                 \
  }                                                                                                                    \
  VF_ABI int cublas##Letter##gemmStridedBatched(Handle* handle, int, int, int m, int n, int k, const void*,            \
                                                const void*, int, long long, const void*, int, long long, const void*, \
                                                void*, int, long long, int batch) {                                    \
    return multiply(handle, Type, m, n, k, batch, "gemmStridedBatched");                                               \
  }                                                                                                                    \
  VF_ABI int cublas##Letter##gemmBatched(Handle* handle, int, int, int m, int n, int k, const void*, const void*, int, \
                                         const void*, int, const void*, void*, int, int batch) {                       \
    return multiply(handle, Type, m, n, k, batch, "gemmBatched");                                                      \
  }                                                                                                                    \
  VF_ABI int cublas##Letter##gemv_v2(Handle* handle, int, int m, int n, const void*, const void*, int, const void*,    \
                                     int, const void*, void*, int) {                                                   \
    return multiply(handle, Type, m, 1, n, 1, "gemv");                                                                 \
  }

VF_CUBLAS_PRODUCTS(S, library::kReal32)
VF_CUBLAS_PRODUCTS(D, library::kReal64)
VF_CUBLAS_PRODUCTS(C, library::kComplex32)
VF_CUBLAS_PRODUCTS(Z, library::kComplex64)

VF_ABI int cublasSgemmEx(Handle* handle, int, int, int m, int n, int k, const float*, const void*, int a_type, int,
                         const void*, int b_type, int, const float*, void*, int c_type, int) {
  return multiply(handle, Product{m, n, k, 1, a_type, b_type, c_type}, rate_of_compute(handle, a_type, 0), "gemmEx");
}

VF_ABI int cublasGemmEx(Handle* handle, int, int, int m, int n, int k, const void*, const void*, int a_type, int,
                        const void*, int b_type, int, const void*, void*, int c_type, int, int compute, int) {
  return multiply(handle, Product{m, n, k, 1, a_type, b_type, c_type}, rate_of_compute(handle, a_type, compute),
                  "gemmEx");
}

VF_ABI int cublasGemmStridedBatchedEx(Handle* handle, int, int, int m, int n, int k, const void*, const void*,
                                      int a_type, int, long long, const void*, int b_type, int, long long, const void*,
                                      void*, int c_type, int, long long, int batch, int compute, int) {
  return multiply(handle, Product{m, n, k, batch, a_type, b_type, c_type}, rate_of_compute(handle, a_type, compute),
                  "gemmStridedBatchedEx");
}
