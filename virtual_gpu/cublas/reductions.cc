// Functions that hand a value to the caller: through a host pointer, or a device pointer, by the handle's mode. Kernels
// do nothing, so the value is what the policy `zeros` says: 0. An index counts from 1, so its "no element" is 0 too.
#include <cstring>

#include "virtual_gpu/cublas/handle.h"

using vramfit::cublas::Handle;
namespace cublas = vramfit::cublas;
namespace library = vramfit::library;
namespace ledger = vramfit::ledger;

namespace {

int reduce(Handle* handle, void* result, size_t bytes, const char* function) {
  if (handle == nullptr) return cublas::kNotInitialized;
  if (result == nullptr) return cublas::kInvalidValue;
  library::launch(handle->stream);
  if (handle->pointer_mode == cublas::kDevicePointers) {
    vramfit::device::fill(result, 0, bytes);
  } else {
    std::memset(result, 0, bytes);
    ledger::note_data_read(function);
  }
  return cublas::kSuccess;
}

}  // namespace

// Each with lengths of 32 and of 64 bits (`_64`), which an index then has too.
#define VF_CUBLAS_DOT(Name, Int, bytes)                                                    \
  VF_ABI int Name(Handle* handle, Int, const void*, Int, const void*, Int, void* result) { \
    return reduce(handle, result, bytes, #Name);                                           \
  }
#define VF_CUBLAS_DOTS(Name, bytes) VF_CUBLAS_DOT(Name, int, bytes) VF_CUBLAS_DOT(Name##_64, int64_t, bytes)
VF_CUBLAS_DOTS(cublasSdot_v2, 4)
VF_CUBLAS_DOTS(cublasDdot_v2, 8)
VF_CUBLAS_DOTS(cublasCdotu_v2, 8)
VF_CUBLAS_DOTS(cublasCdotc_v2, 8)
VF_CUBLAS_DOTS(cublasZdotu_v2, 16)
VF_CUBLAS_DOTS(cublasZdotc_v2, 16)

#define VF_CUBLAS_FOLD(Name, Int, bytes) \
  VF_ABI int Name(Handle* handle, Int, const void*, Int, void* result) { return reduce(handle, result, bytes, #Name); }
#define VF_CUBLAS_FOLDS(Name, bytes) VF_CUBLAS_FOLD(Name, int, bytes) VF_CUBLAS_FOLD(Name##_64, int64_t, bytes)
VF_CUBLAS_FOLDS(cublasSnrm2_v2, 4)
VF_CUBLAS_FOLDS(cublasDnrm2_v2, 8)
VF_CUBLAS_FOLDS(cublasScnrm2_v2, 4)
VF_CUBLAS_FOLDS(cublasDznrm2_v2, 8)
VF_CUBLAS_FOLDS(cublasSasum_v2, 4)
VF_CUBLAS_FOLDS(cublasDasum_v2, 8)
VF_CUBLAS_FOLDS(cublasScasum_v2, 4)
VF_CUBLAS_FOLDS(cublasDzasum_v2, 8)

#define VF_CUBLAS_INDICES(Name) VF_CUBLAS_FOLD(Name, int, 4) VF_CUBLAS_FOLD(Name##_64, int64_t, 8)
VF_CUBLAS_INDICES(cublasIsamax_v2)
VF_CUBLAS_INDICES(cublasIdamax_v2)
VF_CUBLAS_INDICES(cublasIcamax_v2)
VF_CUBLAS_INDICES(cublasIzamax_v2)
VF_CUBLAS_INDICES(cublasIsamin_v2)
VF_CUBLAS_INDICES(cublasIdamin_v2)
VF_CUBLAS_INDICES(cublasIcamin_v2)
VF_CUBLAS_INDICES(cublasIzamin_v2)

#define VF_CUBLAS_TYPED_DOT(Name, Int)                                                                              \
  VF_ABI int Name(Handle* handle, Int, const void*, int, Int, const void*, int, Int, void* result, int result_type, \
                  int) {                                                                                            \
    return reduce(handle, result, static_cast<size_t>(library::bytes_of(result_type, 1)), #Name);                   \
  }
VF_CUBLAS_TYPED_DOT(cublasDotEx, int)
VF_CUBLAS_TYPED_DOT(cublasDotEx_64, int64_t)
VF_CUBLAS_TYPED_DOT(cublasDotcEx, int)
VF_CUBLAS_TYPED_DOT(cublasDotcEx_64, int64_t)

#define VF_CUBLAS_TYPED_NORM(Name, Int)                                                             \
  VF_ABI int Name(Handle* handle, Int, const void*, int, Int, void* result, int result_type, int) { \
    return reduce(handle, result, static_cast<size_t>(library::bytes_of(result_type, 1)), #Name);   \
  }
VF_CUBLAS_TYPED_NORM(cublasNrm2Ex, int)
VF_CUBLAS_TYPED_NORM(cublasNrm2Ex_64, int64_t)
