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
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kBlas)) return cublas::kAllocFailed;
  *handle = new Handle;
  return cublas::kSuccess;
}

VF_ABI int cublasDestroy_v2(Handle* handle) {
  if (handle == nullptr) return cublas::kNotInitialized;
  delete handle;
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

namespace {

struct StatusText {
  int status;
  const char* name;
  const char* meaning;
};

// cublasStatus_t, "cuBLAS Datatypes Reference".
constexpr StatusText kStatuses[] = {
    {cublas::kSuccess, "CUBLAS_STATUS_SUCCESS", "success"},
    {cublas::kNotInitialized, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {cublas::kAllocFailed, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {cublas::kInvalidValue, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the architecture of "
     "the device"},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {cublas::kNotSupported, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", "the functionality requested requires some license"},
};

const StatusText* find_status(int status) {
  for (const StatusText& one : kStatuses) {
    if (one.status == status) return &one;
  }
  return nullptr;
}

}  // namespace

VF_ABI const char* cublasGetStatusString(int status) {
  const StatusText* found = find_status(status);
  return found == nullptr ? "an unknown error occurred" : found->meaning;
}

VF_ABI const char* cublasGetStatusName(int status) {
  const StatusText* found = find_status(status);
  return found == nullptr ? "UNKNOWN STATUS" : found->name;
}
