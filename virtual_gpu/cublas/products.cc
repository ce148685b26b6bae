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
  work.rows = p.m, work.columns = p.n, work.batch = p.batch;
  library::run(handle->stream, work, function);
  return cublas::kSuccess;
}

int multiply(Handle* handle, int32_t type, int64_t m, int64_t n, int64_t k, int64_t batch, const char* function) {
  if (handle == nullptr) return cublas::kNotInitialized;
  return multiply(handle, Product{m, n, k, batch, type, type, type}, cublas::rate_under(*handle, type), function);
}

vf_dtype rate_of_compute(const Handle* handle, int32_t type, int compute) {
  if (handle == nullptr) return VF_DTYPE_OTHER;
  if (library::rate_of(type) == VF_DTYPE_F32 && compute == cublas::kComputeFastTf32) return VF_DTYPE_TF32;
  return cublas::rate_under(*handle, type);
}

}  // namespace

// Every form of a product exists with dimensions of 32 and of 64 bits (`_64`).
// Unnamed parameters, in order: transposes; alpha; A, lda; B, ldb; beta; C, ldc.
#define VF_CUBLAS_PRODUCT(Name, Suffix, Int, Type)                                                                   \
  VF_ABI int Name##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*, Int, const void*, \
                          Int, const void*, void*, Int) {                                                            \
    return multiply(handle, Type, m, n, k, 1, "gemm");                                                               \
  }
#define VF_CUBLAS_STRIDED(Name, Suffix, Int, Type)                                                                 \
  VF_ABI int Name##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*, Int, long long, \
                          const void*, Int, long long, const void*, void*, Int, long long, Int batch) {            \
    return multiply(handle, Type, m, n, k, batch, "gemmStridedBatched");                                           \
  }
#define VF_CUBLAS_BATCHED(Name, Suffix, Int, Type)                                                                   \
  VF_ABI int Name##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*, Int, const void*, \
                          Int, const void*, void*, Int, Int batch) {                                                 \
    return multiply(handle, Type, m, n, k, batch, "gemmBatched");                                                    \
  }
#define VF_CUBLAS_VECTOR(Name, Suffix, Int, Type)                                                             \
  VF_ABI int Name##Suffix(Handle* handle, int, Int m, Int n, const void*, const void*, Int, const void*, Int, \
                          const void*, void*, Int) {                                                          \
    return multiply(handle, Type, m, 1, n, 1, "gemv");                                                        \
  }
#define VF_CUBLAS_VECTOR_BATCHED(Name, Suffix, Int, Type)                                                     \
  VF_ABI int Name##Suffix(Handle* handle, int, Int m, Int n, const void*, const void*, Int, const void*, Int, \
                          const void*, void*, Int, Int batch) {                                               \
    return multiply(handle, Type, m, 1, n, batch, "gemvBatched");                                             \
  }
#define VF_CUBLAS_VECTOR_STRIDED(Name, Suffix, Int, Type)                                                           \
  VF_ABI int Name##Suffix(Handle* handle, int, Int m, Int n, const void*, const void*, Int, long long, const void*, \
                          Int, long long, const void*, void*, Int, long long, Int batch) {                          \
    return multiply(handle, Type, m, 1, n, batch, "gemvStridedBatched");                                            \
  }
#define VF_CUBLAS_BOTH(Form, Name, Suffix, Type) Form(Name, Suffix, int, Type) Form(Name, Suffix##_64, int64_t, Type)

// The five types: half has no suffix and no product with a vector; complex ones have the product by 3 multiplications.
#define VF_CUBLAS_TYPE(Letter, Suffix, Type)                                    \
  VF_CUBLAS_BOTH(VF_CUBLAS_PRODUCT, cublas##Letter##gemm, Suffix, Type)         \
  VF_CUBLAS_BOTH(VF_CUBLAS_STRIDED, cublas##Letter##gemmStridedBatched, , Type) \
  VF_CUBLAS_BOTH(VF_CUBLAS_BATCHED, cublas##Letter##gemmBatched, , Type)
#define VF_CUBLAS_TYPE_OF_VECTORS(Letter, Type)                                 \
  VF_CUBLAS_BOTH(VF_CUBLAS_VECTOR, cublas##Letter##gemv, _v2, Type)             \
  VF_CUBLAS_BOTH(VF_CUBLAS_VECTOR_BATCHED, cublas##Letter##gemvBatched, , Type) \
  VF_CUBLAS_BOTH(VF_CUBLAS_VECTOR_STRIDED, cublas##Letter##gemvStridedBatched, , Type)

VF_CUBLAS_TYPE(H, , library::kReal16)
VF_CUBLAS_TYPE(S, _v2, library::kReal32)
VF_CUBLAS_TYPE(D, _v2, library::kReal64)
VF_CUBLAS_TYPE(C, _v2, library::kComplex32)
VF_CUBLAS_TYPE(Z, _v2, library::kComplex64)
VF_CUBLAS_TYPE_OF_VECTORS(S, library::kReal32)
VF_CUBLAS_TYPE_OF_VECTORS(D, library::kReal64)
VF_CUBLAS_TYPE_OF_VECTORS(C, library::kComplex32)
VF_CUBLAS_TYPE_OF_VECTORS(Z, library::kComplex64)
VF_CUBLAS_BOTH(VF_CUBLAS_PRODUCT, cublasCgemm3m, , library::kComplex32)
VF_CUBLAS_BOTH(VF_CUBLAS_PRODUCT, cublasZgemm3m, , library::kComplex64)
VF_CUBLAS_BOTH(VF_CUBLAS_STRIDED, cublasCgemm3mStridedBatched, , library::kComplex32)
VF_CUBLAS_BOTH(VF_CUBLAS_BATCHED, cublasCgemm3mBatched, , library::kComplex32)

// Mixed products with a vector: the letters are the types of A, of the scalars and of the result (T: bfloat16).
#define VF_CUBLAS_MIXED(Letters, Type)                                           \
  VF_CUBLAS_BOTH(VF_CUBLAS_VECTOR_BATCHED, cublas##Letters##gemvBatched, , Type) \
  VF_CUBLAS_BOTH(VF_CUBLAS_VECTOR_STRIDED, cublas##Letters##gemvStridedBatched, , Type)
VF_CUBLAS_MIXED(HSH, library::kReal16)
VF_CUBLAS_MIXED(HSS, library::kReal16)
VF_CUBLAS_MIXED(TST, library::kBrain16)
VF_CUBLAS_MIXED(TSS, library::kBrain16)

// Products whose types are named in the call.
#define VF_CUBLAS_TYPED(Suffix, Int)                                                                                   \
  VF_ABI int cublasGemmEx##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*, int a_type, \
                                  Int, const void*, int b_type, Int, const void*, void*, int c_type, Int, int compute, \
                                  int) {                                                                               \
    return multiply(handle, Product{m, n, k, 1, a_type, b_type, c_type}, rate_of_compute(handle, a_type, compute),     \
                    "gemmEx");                                                                                         \
  }                                                                                                                    \
  VF_ABI int cublasGemmBatchedEx##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*,      \
                                         int a_type, Int, const void*, int b_type, Int, const void*, void*,            \
                                         int c_type, Int, Int batch, int compute, int) {                               \
    return multiply(handle, Product{m, n, k, batch, a_type, b_type, c_type}, rate_of_compute(handle, a_type, compute), \
                    "gemmBatchedEx");                                                                                  \
  }                                                                                                                    \
  VF_ABI int cublasGemmStridedBatchedEx##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*,            \
                                                const void*, int a_type, Int, long long, const void*, int b_type, Int, \
                                                long long, const void*, void*, int c_type, Int, long long, Int batch,  \
                                                int compute, int) {                                                    \
    return multiply(handle, Product{m, n, k, batch, a_type, b_type, c_type}, rate_of_compute(handle, a_type, compute), \
                    "gemmStridedBatchedEx");                                                                           \
  }
VF_CUBLAS_TYPED(, int)
VF_CUBLAS_TYPED(_64, int64_t)

#define VF_CUBLAS_TYPED_OPERANDS(Name, Suffix, Int)                                                                 \
  VF_ABI int Name##Suffix(Handle* handle, int, int, Int m, Int n, Int k, const void*, const void*, int a_type, Int, \
                          const void*, int b_type, Int, const void*, void*, int c_type, Int) {                      \
    return multiply(handle, Product{m, n, k, 1, a_type, b_type, c_type}, rate_of_compute(handle, a_type, 0),        \
                    "gemmEx");                                                                                      \
  }
VF_CUBLAS_TYPED_OPERANDS(cublasSgemmEx, , int)
VF_CUBLAS_TYPED_OPERANDS(cublasSgemmEx, _64, int64_t)
VF_CUBLAS_TYPED_OPERANDS(cublasCgemmEx, , int)
VF_CUBLAS_TYPED_OPERANDS(cublasCgemmEx, _64, int64_t)
VF_CUBLAS_TYPED_OPERANDS(cublasCgemm3mEx, , int)
VF_CUBLAS_TYPED_OPERANDS(cublasCgemm3mEx, _64, int64_t)

namespace {

// One product per group, of the size of its members; the lists lie on the host.
template <typename Int>
int multiply_groups(Handle* handle, Product p, int compute, const Int* m, const Int* n, const Int* k, Int groups,
                    const Int* sizes) {
  if (handle == nullptr) return cublas::kNotInitialized;
  if (groups < 0 || (groups > 0 && (m == nullptr || n == nullptr || k == nullptr || sizes == nullptr)))
    return cublas::kInvalidValue;
  for (Int i = 0; i < groups; ++i) {
    p.m = m[i], p.n = n[i], p.k = k[i], p.batch = sizes[i];
    const int status = multiply(handle, p, rate_of_compute(handle, p.a_type, compute), "gemmGroupedBatched");
    if (status != cublas::kSuccess) return status;
  }
  return cublas::kSuccess;
}

}  // namespace

#define VF_CUBLAS_GROUPED(Letter, Suffix, Int, Type)                                                                  \
  VF_ABI int cublas##Letter##gemmGroupedBatched##Suffix(                                                              \
      Handle* handle, const int*, const int*, const Int* m, const Int* n, const Int* k, const void*, const void*,     \
      const Int*, const void*, const Int*, const void*, void*, const Int*, Int groups, const Int* sizes) {            \
    return multiply_groups(handle, Product{.a_type = (Type), .b_type = (Type), .c_type = (Type)}, 0, m, n, k, groups, \
                           sizes);                                                                                    \
  }
VF_CUBLAS_GROUPED(S, , int, library::kReal32)
VF_CUBLAS_GROUPED(S, _64, int64_t, library::kReal32)
VF_CUBLAS_GROUPED(D, , int, library::kReal64)
VF_CUBLAS_GROUPED(D, _64, int64_t, library::kReal64)

#define VF_CUBLAS_GROUPED_TYPED(Suffix, Int)                                                                         \
  VF_ABI int cublasGemmGroupedBatchedEx##Suffix(Handle* handle, const int*, const int*, const Int* m, const Int* n,  \
                                                const Int* k, const void*, const void*, int a_type, const Int*,      \
                                                const void*, int b_type, const Int*, const void*, void*, int c_type, \
                                                const Int*, Int groups, const Int* sizes, int compute) {             \
    return multiply_groups(handle, Product{.a_type = a_type, .b_type = b_type, .c_type = c_type}, compute, m, n, k,  \
                           groups, sizes);                                                                           \
  }
VF_CUBLAS_GROUPED_TYPED(, int)
VF_CUBLAS_GROUPED_TYPED(_64, int64_t)
