// The profiling interface, as much of it as PyTorch's profiler (kineto) uses: it subscribes, asks for buffers of
// activity records and gets none, because nothing runs. Enum values from cupti_result.h of CUDA 13.
#include <cstring>

#include "cuda_facts.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::cupti {
namespace {

enum Result : int { kSuccess = 0, kInvalidParameter = 1, kMaxLimitReached = 12, kNotSupported = 27 };

int subscriber_object = 0;  // its address is the handle

}  // namespace
}  // namespace vramfit::cupti

namespace cupti = vramfit::cupti;

VF_ABI int cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return cupti::kInvalidParameter;
  *version = vramfit::cuda::kCuptiApi;
  return cupti::kSuccess;
}

VF_ABI int cuptiGetResultString(int result, const char** text) {
  if (text == nullptr) return cupti::kInvalidParameter;
  switch (result) {
    case cupti::kSuccess:
      *text = "CUPTI_SUCCESS";
      break;
    case cupti::kInvalidParameter:
      *text = "CUPTI_ERROR_INVALID_PARAMETER";
      break;
    case cupti::kMaxLimitReached:
      *text = "CUPTI_ERROR_MAX_LIMIT_REACHED";
      break;
    default:
      *text = "CUPTI_ERROR_NOT_SUPPORTED";
  }
  return cupti::kSuccess;
}

VF_ABI int cuptiSubscribe(void** subscriber, void*, void*) {
  if (subscriber == nullptr) return cupti::kInvalidParameter;
  *subscriber = &cupti::subscriber_object;
  return cupti::kSuccess;
}

VF_ABI int cuptiUnsubscribe(void*) { return cupti::kSuccess; }
VF_ABI int cuptiEnableCallback(uint32_t, void*, int, uint32_t) { return cupti::kSuccess; }
VF_ABI int cuptiEnableDomain(uint32_t, void*, int) { return cupti::kSuccess; }
VF_ABI int cuptiFinalize() { return cupti::kSuccess; }

VF_ABI int cuptiActivityRegisterCallbacks(void*, void*) { return cupti::kSuccess; }
VF_ABI int cuptiActivityRegisterTimestampCallback(void*) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnable(int) { return cupti::kSuccess; }
VF_ABI int cuptiActivityDisable(int) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnableContext(void*, int) { return cupti::kSuccess; }
VF_ABI int cuptiActivityDisableContext(void*, int) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnableRuntimeApi(uint32_t, uint8_t) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnableDriverApi(uint32_t, uint8_t) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnableHWTrace(uint8_t) { return cupti::kSuccess; }
VF_ABI int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return cupti::kSuccess; }
VF_ABI int cuptiActivitySetAttribute(int, size_t*, void*) { return cupti::kSuccess; }
VF_ABI int cuptiActivityFlushAll(uint32_t) { return cupti::kSuccess; }

VF_ABI int cuptiActivityGetNextRecord(uint8_t*, size_t, void** record) {
  if (record == nullptr) return cupti::kInvalidParameter;
  *record = nullptr;
  return cupti::kMaxLimitReached;  // documented: no more records in the buffer
}

VF_ABI int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return cupti::kInvalidParameter;
  *dropped = 0;
  return cupti::kSuccess;
}

VF_ABI int cuptiActivityPushExternalCorrelationId(int, uint64_t) { return cupti::kSuccess; }

VF_ABI int cuptiActivityPopExternalCorrelationId(int, uint64_t* last) {
  vramfit::library::answer(last, 0);
  return cupti::kSuccess;
}
