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

#define VF_CUBLAS_DOT(Name, bytes)                                                         \
  VF_ABI int Name(Handle* handle, int, const void*, int, const void*, int, void* result) { \
    return reduce(handle, result, bytes, #Name);                                           \
  }
VF_CUBLAS_DOT(cublasSdot_v2, 4)
VF_CUBLAS_DOT(cublasDdot_v2, 8)
VF_CUBLAS_DOT(cublasCdotu_v2, 8)
VF_CUBLAS_DOT(cublasCdotc_v2, 8)
VF_CUBLAS_DOT(cublasZdotu_v2, 16)
VF_CUBLAS_DOT(cublasZdotc_v2, 16)

#define VF_CUBLAS_FOLD(Name, bytes) \
  VF_ABI int Name(Handle* handle, int, const void*, int, void* result) { return reduce(handle, result, bytes, #Name); }
VF_CUBLAS_FOLD(cublasSnrm2_v2, 4)
VF_CUBLAS_FOLD(cublasDnrm2_v2, 8)
VF_CUBLAS_FOLD(cublasScnrm2_v2, 4)
VF_CUBLAS_FOLD(cublasDznrm2_v2, 8)
VF_CUBLAS_FOLD(cublasSasum_v2, 4)
VF_CUBLAS_FOLD(cublasDasum_v2, 8)
VF_CUBLAS_FOLD(cublasScasum_v2, 4)
VF_CUBLAS_FOLD(cublasDzasum_v2, 8)
VF_CUBLAS_FOLD(cublasIsamax_v2, 4)
VF_CUBLAS_FOLD(cublasIdamax_v2, 4)
VF_CUBLAS_FOLD(cublasIcamax_v2, 4)
VF_CUBLAS_FOLD(cublasIzamax_v2, 4)
VF_CUBLAS_FOLD(cublasIsamin_v2, 4)
VF_CUBLAS_FOLD(cublasIdamin_v2, 4)
VF_CUBLAS_FOLD(cublasIcamin_v2, 4)
VF_CUBLAS_FOLD(cublasIzamin_v2, 4)

VF_ABI int cublasDotEx(Handle* handle, int, const void*, int, int, const void*, int, int, void* result, int result_type,
                       int) {
  return reduce(handle, result, static_cast<size_t>(library::bytes_of(result_type, 1)), "cublasDotEx");
}
