// Virtual memory management, as PyTorch's expandable segments use it.
#include "virtual_gpu/device/physical.h"

#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/driver/driver.h"

using vramfit::driver::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CUresult card_of(const CUmemLocation& location, int* card) {
  if (is_host(location.type)) {
    *card = device::kOnHost;
    return CUDA_SUCCESS;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  *card = location.id;
  return ledger::card(location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  VF_NEED(granularity);
  VF_NEED(properties);
  *granularity = device::kGranularity;
  VF_NEED_CARD();
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  VF_NEED(handle);
  VF_NEED(properties);
  *handle = 0;
  VF_NEED_CARD();
  if (flags != 0 || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if ((properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  device::PhysicalProperties wanted;
  wanted.bytes = bytes;
  wanted.handle_types = properties->requestedHandleTypes;
  if (const CUresult result = card_of(properties->location, &wanted.card); result != CUDA_SUCCESS) return result;
  device::Handle made = 0;
  const device::Error error = device::create_physical(wanted, &made);
  *handle = made;
  return answer(error);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  VF_NEED_CARD();
  return answer(device::release_physical(handle));
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  VF_NEED(address);
  *address = 0;
  VF_NEED_CARD();
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  uintptr_t begin = 0;
  const device::Error error = device::reserve_range(bytes, alignment, hint, &begin);
  *address = begin;
  return answer(error);
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  VF_NEED_CARD();
  return answer(device::free_range(address, bytes));
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  VF_NEED_CARD();
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return answer(device::map_physical(address, bytes, offset, handle));
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  VF_NEED_CARD();
  return answer(device::unmap_physical(address, bytes));
}

// The most that any card may do is what everybody may do: there is one address space.
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptors, size_t count) {
  VF_NEED(descriptors);
  VF_NEED_CARD();
  unsigned flags = 0;
  for (size_t i = 0; i < count; ++i) {
    int card = 0;
    if (const CUresult result = card_of(descriptors[i].location, &card); result != CUDA_SUCCESS) return result;
    flags |= descriptors[i].flags;
  }
  return answer(device::set_access(address, bytes, flags));
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  VF_NEED(flags);
  VF_NEED(location);
  *flags = 0;
  VF_NEED_CARD();
  unsigned found = 0;
  const device::Error error = device::get_access(address, &found);
  *flags = found;
  return answer(error);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  VF_NEED(properties);
  *properties = {};
  VF_NEED_CARD();
  device::PhysicalProperties found;
  const device::Error error = device::properties_of(handle, &found);
  if (error != device::Error::kNone) return answer(error);
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(found.handle_types);
  const bool on_host = found.card == device::kOnHost;
  properties->location.type = on_host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  properties->location.id = on_host ? 0 : found.card;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  VF_NEED(handle);
  *handle = 0;
  VF_NEED_CARD();
  device::Handle found = 0;
  const device::Error error = device::retain_mapped(address, &found);
  *handle = found;
  return answer(error);
}

CUresult cuMemExportToShareableHandle(void* exported, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long) {
  VF_NEED(exported);
  *static_cast<int*>(exported) = -1;
  VF_NEED_CARD();
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  return answer(device::export_to_fd(handle, static_cast<int*>(exported)));
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* exported,
                                        CUmemAllocationHandleType type) {
  VF_NEED(handle);
  *handle = 0;
  VF_NEED_CARD();
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  device::Handle found = 0;
  // The descriptor itself travels in the pointer, as the driver's documentation has it.
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(exported));
  const device::Error error = device::import_from_fd(file, &found);
  *handle = found;
  return answer(error);
}
