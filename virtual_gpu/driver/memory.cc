// Memory, copies and pointers through the driver.
#include "virtual_gpu/device/memory.h"

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/pool.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/driver/driver.h"

using vramfit::driver::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult copy(void* to, const void* from, size_t bytes, CUstream stream, bool host_waits) {
  VF_NEED_CARD();
  if (bytes == 0) return CUDA_SUCCESS;
  VF_NEED(to);
  VF_NEED(from);
  device::Work work;
  work.kind = device::WorkKind::kCopy;
  work.to = to;
  work.from = from;
  work.bytes = bytes;
  work.duration_ns = device::copy_duration_ns(to, from, bytes);
  const device::Error error = device::submit(stream, work);
  if (error != device::Error::kNone || !host_waits) return answer(error);
  return answer(device::synchronize_stream(stream));
}

CUresult fill(CUdeviceptr to, unsigned value, unsigned element_bytes, size_t count, CUstream stream) {
  VF_NEED_CARD();
  if (count == 0) return CUDA_SUCCESS;
  VF_NEED(pointer(to));
  device::Work work;
  work.kind = device::WorkKind::kFill;
  work.to = pointer(to);
  work.bytes = count * element_bytes;
  work.fill_value = value;
  work.fill_element_bytes = element_bytes;
  work.duration_ns = device::copy_duration_ns(work.to, work.to, work.bytes);
  return answer(device::submit(stream, work));
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  VF_NEED(free);
  VF_NEED(total);
  *free = *total = 0;
  VF_NEED_CARD();
  if (vramfit::driver::current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const ledger::MemoryInfo info = ledger::memory_info(ledger::current_card());
  *free = static_cast<size_t>(info.free_bytes);
  *total = static_cast<size_t>(info.total_bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  VF_NEED(address);
  *address = 0;
  VF_NEED_CARD();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  void* made = nullptr;
  const device::Error error = device::allocate_device(ledger::current_card(), bytes, &made);
  *address = reinterpret_cast<CUdeviceptr>(made);
  return answer(error);
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  VF_NEED(address);
  *address = 0;
  VF_NEED_CARD();
  void* made = nullptr;
  const device::Error error = device::allocate_managed(ledger::current_card(), bytes, flags, &made);
  *address = reinterpret_cast<CUdeviceptr>(made);
  return answer(error);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  VF_NEED_CARD();
  return answer(device::release_to_pool(pointer(address)));
}

CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  return answer(device::allocate_host(bytes, 0, address));
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  return answer(device::allocate_host(bytes, flags, address));
}

CUresult cuMemFreeHost(void* address) {
  VF_NEED_CARD();
  return answer(device::release_host(address));
}

CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  VF_NEED_CARD();
  return answer(device::register_host(address, bytes, flags));
}

CUresult cuMemHostUnregister(void* address) {
  VF_NEED_CARD();
  return answer(device::unregister_host(address));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* on_device, void* on_host, unsigned) {
  VF_NEED(on_device);
  *on_device = 0;
  VF_NEED_CARD();
  if (device::find_range(on_host).place != device::Place::kPinned) return CUDA_ERROR_INVALID_VALUE;
  *on_device = reinterpret_cast<CUdeviceptr>(on_host);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  if (begin != nullptr) *begin = 0;
  if (bytes != nullptr) *bytes = 0;
  VF_NEED_CARD();
  const device::Range range = device::find_range(pointer(address));
  if (range.place == device::Place::kUnknown) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = range.begin;
  if (bytes != nullptr) *bytes = range.bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(pointer(to), pointer(from), bytes, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(pointer(to), pointer(from), bytes, stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy(pointer(to), from, bytes, nullptr, true);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy(to, pointer(from), bytes, nullptr, true);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(pointer(to), pointer(from), bytes, nullptr, false);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy(pointer(to), from, bytes, stream, false);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(to, pointer(from), bytes, stream, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(pointer(to), pointer(from), bytes, stream, false);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return copy(pointer(to), pointer(from), bytes, nullptr, false);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
  return copy(pointer(to), pointer(from), bytes, stream, false);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) { return fill(to, value, 1, count, nullptr); }
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return fill(to, value, 2, count, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) { return fill(to, value, 4, count, nullptr); }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill(to, value, 2, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, value, 4, count, stream);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return fill(to, value, 4, 1, stream);
}

// Whoever would write the value has already done so, or is another process that will not.
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr, cuuint32_t, unsigned) {
  VF_NEED_CARD();
  device::Work work;
  work.kind = device::WorkKind::kEmpty;
  return answer(device::submit(stream, work));
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  VF_NEED(value);
  VF_NEED_CARD();
  const auto found = device::find_allocation(pointer(address));
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  const device::Range& range = found->range;
  const bool on_device = range.place == device::Place::kDevice;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = vramfit::driver::primary_context(range.card);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          range.place == device::Place::kPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<void**>(value) = on_device ? nullptr : pointer(address);
      return on_device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = found->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = range.place == device::Place::kManaged ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = range.card;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = range.begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(value) = range.bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(value) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<unsigned*>(value) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(value) =
          found->origin == device::Origin::kAllocation || found->origin == device::Origin::kSmall ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<unsigned*>(value) = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(value) = reinterpret_cast<CUmemoryPool>(found->owner);
      return CUDA_SUCCESS;
    default:
      ledger::note_not_modelled("cuPointerGetAttribute: an attribute");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Unlike the single form, an address that CUDA does not know gets zeros.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  VF_NEED(attributes);
  VF_NEED(values);
  VF_NEED_CARD();
  const bool is_known = device::find_allocation(pointer(address)).has_value();
  for (unsigned i = 0; i < count; ++i) {
    if (!is_known) {
      *static_cast<unsigned*>(values[i]) = 0;
      continue;
    }
    const CUresult result = cuPointerGetAttribute(values[i], attributes[i], address);
    if (result != CUDA_SUCCESS && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) { return CUDA_SUCCESS; }
