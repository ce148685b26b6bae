// Memory: device, host, managed; what an address is; sharing between processes.
#include "virtual_gpu/device/memory.h"

#include <unistd.h>

#include <cstring>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/ledger/accounts.h"

using vramfit::cudart::answer;
using vramfit::cudart::check_stream;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

// What the 64 bytes of a cudaIpcMemHandle_t carry. The card is the ledger's index: ordinals differ by process.
struct IpcMemory {
  uint64_t magic;
  int32_t pid;
  int32_t card_index;
  uint64_t begin;
  uint64_t bytes;
};
static_assert(sizeof(IpcMemory) <= sizeof(cudaIpcMemHandle_t));
constexpr uint64_t kIpcMagic = 0x3143504954494656;  // "VFITIPC1"

int ordinal_of(int index) {
  for (int card = 0; card < ledger::card_count(); ++card) {
    if (ledger::index_in_ledger(card) == index) return card;
  }
  return -1;
}

}  // namespace

cudaError_t cudaMalloc(void** address, size_t bytes) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  return answer(device::allocate_device(ledger::current_card(), bytes, address));
}

cudaError_t cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  VF_NEED(pitch);
  *pitch = device::round_up(width, 512);
  return cudaMalloc(address, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  VF_NEED(memory);
  *memory = {};
  const size_t pitch = device::round_up(extent.width, 512);
  void* address = nullptr;
  const cudaError_t error = cudaMalloc(&address, pitch * extent.height * extent.depth);
  if (error != cudaSuccess) return error;
  memory->ptr = address;
  memory->pitch = pitch;
  memory->xsize = extent.width;
  memory->ysize = extent.height;
  return cudaSuccess;
}

// Waits for the card first, as the real one does: nothing may still use the memory.
cudaError_t cudaFree(void* address) {
  VF_NEED_CARD();
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  if (address == nullptr) return answer(vramfit::cudart::touch_current());
  const auto found = device::find_allocation(address);
  if (!found) return answer(cudaErrorInvalidValue);
  device::synchronize_card(found->range.card);
  return cudaFreeAsync(address, nullptr);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  VF_NEED(free);
  VF_NEED(total);
  *free = *total = 0;
  VF_NEED_CARD();
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  const ledger::MemoryInfo info = ledger::memory_info(ledger::current_card());
  *free = static_cast<size_t>(info.free_bytes);
  *total = static_cast<size_t>(info.total_bytes);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  return answer(device::allocate_host(bytes, flags, address));
}

cudaError_t cudaMallocHost(void** address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }

cudaError_t cudaFreeHost(void* address) {
  VF_NEED_CARD();
  return answer(device::release_host(address));
}

cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  VF_NEED_CARD();
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  return answer(device::register_host(address, bytes, flags));
}

cudaError_t cudaHostUnregister(void* address) {
  VF_NEED_CARD();
  return answer(device::unregister_host(address));
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned) {
  VF_NEED(on_device);
  *on_device = nullptr;
  VF_NEED_CARD();
  if (device::find_range(on_host).place != device::Place::kPinned) return answer(cudaErrorInvalidValue);
  *on_device = on_host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* address) {
  VF_NEED(flags);
  *flags = 0;
  VF_NEED_CARD();
  const auto found = device::find_allocation(address);
  if (!found || found->range.place != device::Place::kPinned) return answer(cudaErrorInvalidValue);
  *flags = found->flags;
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  return answer(device::allocate_managed(ledger::current_card(), bytes, flags, address));
}

// Hints change where pages lie, never whether there is room.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
  return check_stream(stream);
}
#else
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemAdvise_v2(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t stream) { return check_stream(stream); }
cudaError_t cudaMemPrefetchAsync_v2(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
  return check_stream(stream);
}
#endif

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  VF_NEED(attributes);
  *attributes = {};
  attributes->device = -2;  // cudaInvalidDeviceId
  attributes->type = cudaMemoryTypeUnregistered;
  VF_NEED_CARD();
  const device::Range range = device::find_range(address);
  auto* pointer = const_cast<void*>(address);
  if (range.place == device::Place::kUnknown) {
    attributes->hostPointer = pointer;
    return cudaSuccess;
  }
  attributes->device = range.card;
  attributes->devicePointer = pointer;
  if (range.place != device::Place::kDevice) attributes->hostPointer = pointer;
  attributes->type = range.place == device::Place::kDevice   ? cudaMemoryTypeDevice
                     : range.place == device::Place::kPinned ? cudaMemoryTypeHost
                                                             : cudaMemoryTypeManaged;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  VF_NEED(handle);
  std::memset(handle, 0, sizeof *handle);
  VF_NEED_CARD();
  const auto found = device::find_allocation(address);
  const bool can_share =
      found && (found->origin == device::Origin::kAllocation || found->origin == device::Origin::kSmall);
  if (!can_share) return answer(cudaErrorInvalidValue);
  const IpcMemory shared = {.magic = kIpcMagic,
                            .pid = getpid(),
                            .card_index = ledger::index_in_ledger(found->range.card),
                            .begin = found->range.begin,
                            .bytes = found->range.bytes};
  std::memcpy(handle, &shared, sizeof shared);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  IpcMemory shared;
  std::memcpy(&shared, &handle, sizeof shared);
  if (shared.magic != kIpcMagic) return answer(cudaErrorInvalidValue);
  if (shared.pid == getpid()) return answer(cudaErrorDeviceUninitialized);  // as documented: not in its own process
  if (ledger::start_time_of(shared.pid) == 0) return answer(cudaErrorMapBufferObjectFailed);
  const int card = ordinal_of(shared.card_index);
  if (card < 0) return answer(cudaErrorInvalidDevice);
  return answer(device::import_device(card, shared.bytes, address));
}

cudaError_t cudaIpcCloseMemHandle(void* address) {
  VF_NEED_CARD();
  return answer(device::release_import(address));
}
