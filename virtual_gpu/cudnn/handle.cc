// The library handle, versions and error texts.
#include "virtual_gpu/cudnn/handle.h"

#include <cstdio>

#include "cuda_facts.h"
#include "virtual_gpu/cudnn/status.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/requirement.h"

namespace vramfit::cudnn {

int64_t emulated_version() {
  static const int64_t version = [] {
    // A source build names no version: the newest that the PyPI wheels of this CUDA major ask for.
    const library::Version v = library::required_version("nvidia-cudnn").value_or(cuda::kCudnn);
    return int64_t{v[0]} * 10000 + int64_t{v[1]} * 100 + v[2];
  }();
  return version;
}

}  // namespace vramfit::cudnn

using vramfit::cudnn::Handle;
namespace cudnn = vramfit::cudnn;
namespace ledger = vramfit::ledger;

VF_ABI size_t cudnnGetVersion() { return static_cast<size_t>(cudnn::emulated_version()); }
VF_ABI size_t cudnnGetCudartVersion() { return vramfit::cuda::kMajor * 1000; }

VF_ABI int cudnnGetProperty(int property, int* value) {
  if (value == nullptr) return cudnn::kNullPointer;
  const int64_t version = cudnn::emulated_version();
  switch (property) {  // libraryPropertyType: MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
    case 0:
      *value = static_cast<int>(version / 10000);
      return cudnn::kSuccess;
    case 1:
      *value = static_cast<int>(version / 100 % 100);
      return cudnn::kSuccess;
    case 2:
      *value = static_cast<int>(version % 100);
      return cudnn::kSuccess;
    default:
      return cudnn::kBadParam;
  }
}

VF_ABI int cudnnCreate(Handle** handle) {
  if (handle == nullptr) return cudnn::kNullPointer;
  *handle = nullptr;
  if (ledger::state() != ledger::State::kReady) return cudnn::kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kCudnn)) return cudnn::kAllocFailed;
  *handle = new Handle;
  return cudnn::kSuccess;
}

VF_ABI int cudnnDestroy(Handle* handle) {
  delete handle;
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetStream(Handle* handle, vramfit::library::Stream stream) {
  if (handle == nullptr) return cudnn::kNullPointer;
  handle->stream = stream;
  return cudnn::kSuccess;
}

VF_ABI int cudnnGetStream(Handle* handle, vramfit::library::Stream* stream) {
  if (handle == nullptr || stream == nullptr) return cudnn::kNullPointer;
  *stream = handle->stream;
  return cudnn::kSuccess;
}

VF_ABI const char* cudnnGetErrorString(int status) {
  switch (status) {
    case cudnn::kSuccess:
      return "CUDNN_STATUS_SUCCESS";
    case cudnn::kNotInitialized:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case cudnn::kAllocFailed:
      return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case cudnn::kNotSupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return status >= 2000 && status < 3000 ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

VF_ABI void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (message != nullptr && bytes > 0) {
    std::snprintf(message, bytes, "the virtual GPU's cuDNN keeps no error text beyond the status");
  }
}
