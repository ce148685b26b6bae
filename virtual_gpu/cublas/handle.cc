// Handles and their settings. The workspace of a product is PyTorch's own allocation (cublasSetWorkspace), so nothing
// is charged here but the library's modules, once per process and card.
#include "virtual_gpu/cublas/handle.h"

using vramfit::cublas::Handle;
using vramfit::library::Stream;
namespace cublas = vramfit::cublas;
namespace ledger = vramfit::ledger;

VF_ABI int cublasCreate_v2(Handle** handle) {
  if (handle == nullptr) return cublas::kInvalidValue;
  *handle = nullptr;
  if (ledger::state() != ledger::State::kReady) return cublas::kNotInitialized;
  if (!ledger::charge_modules(ledger::current_card())) return cublas::kAllocFailed;
  *handle = new Handle;
  return cublas::kSuccess;
}

VF_ABI int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return cublas::kSuccess;
}

VF_ABI int cublasGetVersion_v2(Handle*, int* version) {
  vramfit::library::answer(version, VRAMFIT_CUDA_MAJOR == 12 ? 120805 : 130100);
  return cublas::kSuccess;
}

VF_ABI int cublasSetStream_v2(Handle* handle, Stream stream) {
  if (handle == nullptr) return cublas::kNotInitialized;
  handle->stream = stream;
  handle->workspace = nullptr;  // documented: setting a stream goes back to the default workspace
  handle->workspace_bytes = 0;
  return cublas::kSuccess;
}

VF_ABI int cublasGetStream_v2(Handle* handle, Stream* stream) {
  if (handle == nullptr) return cublas::kNotInitialized;
  vramfit::library::answer(stream, handle->stream);
  return cublas::kSuccess;
}

VF_ABI int cublasSetWorkspace_v2(Handle* handle, void* workspace, size_t bytes) {
  if (handle == nullptr) return cublas::kNotInitialized;
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return cublas::kSuccess;
}

#define VF_CUBLAS_SETTING(Setter, Getter, field)           \
  VF_ABI int Setter(Handle* handle, int value) {           \
    if (handle == nullptr) return cublas::kNotInitialized; \
    handle->field = value;                                 \
    return cublas::kSuccess;                               \
  }                                                        \
  VF_ABI int Getter(Handle* handle, int* value) {          \
    if (handle == nullptr) return cublas::kNotInitialized; \
    vramfit::library::answer(value, handle->field);        \
    return cublas::kSuccess;                               \
  }

VF_CUBLAS_SETTING(cublasSetMathMode, cublasGetMathMode, math_mode)
VF_CUBLAS_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, pointer_mode)
VF_CUBLAS_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, atomics_mode)
VF_CUBLAS_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, sm_count_target)

VF_ABI const char* cublasGetStatusString(int status) {
  switch (status) {
    case cublas::kSuccess:
      return "success";
    case cublas::kNotInitialized:
      return "the library was not initialized";
    case cublas::kAllocFailed:
      return "the resource allocation failed";
    case cublas::kNotSupported:
      return "the functionality requested is not supported";
    default:
      return "an unknown error occurred";
  }
}

VF_ABI const char* cublasGetStatusName(int status) {
  switch (status) {
    case cublas::kSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case cublas::kNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case cublas::kAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case cublas::kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
