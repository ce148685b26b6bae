// Stream-ordered allocation: cudaMallocAsync and its pools.
#include "virtual_gpu/device/pool.h"

#include <unistd.h>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/device/stream.h"

using vramfit::cudart::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

device::Pool* from_handle(cudaMemPool_t pool) { return reinterpret_cast<device::Pool*>(pool); }

int card_of_stream(cudaStream_t stream) {
  device::StreamFacts facts;
  return device::stream_facts(stream, &facts) == device::Error::kNone ? facts.card : -1;
}

// A captured allocation is there from the capture on; the address is the same at every launch, as on a card.
device::Error allocate_on_stream(device::Pool* pool, size_t bytes, cudaStream_t stream, void** address) {
  if (const auto error = device::allocate_from(pool, bytes, address); error != device::Error::kNone) return error;
  device::Graph* graph = device::capturing_graph(stream);
  if (graph == nullptr || *address == nullptr) return device::Error::kNone;
  device::Work work;
  work.kind = device::WorkKind::kAllocate;
  work.to = *address;
  work.bytes = bytes;
  return device::submit(stream, work);
}

}  // namespace

cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  if (card_of_stream(stream) < 0) return answer(cudaErrorInvalidResourceHandle);
  return answer(allocate_on_stream(from_handle(pool), bytes, stream, address));
}

cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
  VF_NEED(address);
  *address = nullptr;
  VF_NEED_CARD();
  const int card = card_of_stream(stream);
  if (card < 0) return answer(cudaErrorInvalidResourceHandle);
  return answer(allocate_on_stream(device::current_pool(card), bytes, stream, address));
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  VF_NEED_CARD();
  if (address == nullptr) return cudaSuccess;
  if (card_of_stream(stream) < 0) return answer(cudaErrorInvalidResourceHandle);
  if (device::Graph* graph = device::capturing_graph(stream)) {
    const auto found = device::find_allocation(address);
    if (!found) return answer(cudaErrorInvalidValue);
    graph->memory->blocks.emplace_back(address, found->id);
    device::Work work;
    work.kind = device::WorkKind::kRelease;
    work.to = address;
    return answer(device::submit(stream, work));
  }
  return answer(device::release_to_pool(address));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int card) {
  VF_NEED(pool);
  *pool = nullptr;
  VF_NEED_CARD();
  *pool = reinterpret_cast<cudaMemPool_t>(device::default_pool(card));
  return *pool == nullptr ? answer(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int card) {
  VF_NEED(pool);
  *pool = nullptr;
  VF_NEED_CARD();
  *pool = reinterpret_cast<cudaMemPool_t>(device::current_pool(card));
  return *pool == nullptr ? answer(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int card, cudaMemPool_t pool) {
  VF_NEED_CARD();
  return answer(device::set_current_pool(card, from_handle(pool)));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  VF_NEED(pool);
  VF_NEED(properties);
  *pool = nullptr;
  VF_NEED_CARD();
  if (properties->location.type != cudaMemLocationTypeDevice) return answer(cudaErrorNotSupported);
  device::Pool* made = nullptr;
  const auto error = device::create_pool(properties->location.id, properties->maxSize, &made);
  *pool = reinterpret_cast<cudaMemPool_t>(made);
  return answer(error);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  VF_NEED_CARD();
  return answer(device::destroy_pool(from_handle(pool)));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes) {
  VF_NEED_CARD();
  return answer(device::trim(from_handle(pool), keep_bytes));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  VF_NEED(value);
  VF_NEED_CARD();
  uint64_t number = 0;
  const auto attribute = static_cast<device::PoolAttribute>(which);
  const auto error = device::get_attribute(from_handle(pool), attribute, &number);
  if (error != device::Error::kNone) return answer(error);
  if (device::is_flag(attribute)) {
    *static_cast<int*>(value) = static_cast<int>(number);
  } else {
    *static_cast<cuuint64_t*>(value) = number;
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  VF_NEED(value);
  VF_NEED_CARD();
  const auto attribute = static_cast<device::PoolAttribute>(which);
  const uint64_t number =
      device::is_flag(attribute) ? static_cast<uint64_t>(*static_cast<int*>(value)) : *static_cast<cuuint64_t*>(value);
  return answer(device::set_attribute(from_handle(pool), attribute, number));
}

// Every card may reach every other card's pools.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptors, size_t count) {
  VF_NEED_CARD();
  if (!device::is_pool(from_handle(pool)) || (count > 0 && descriptors == nullptr))
    return answer(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    const cudaMemLocation& location = descriptors[i].location;
    if (location.type == cudaMemLocationTypeDevice && ledger::card(location.id) == nullptr) {
      return answer(cudaErrorInvalidDevice);
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  VF_NEED(flags);
  VF_NEED(location);
  VF_NEED_CARD();
  if (!device::is_pool(from_handle(pool))) return answer(cudaErrorInvalidValue);
  if (location->type == cudaMemLocationTypeDevice && ledger::card(location->id) == nullptr) {
    return answer(cudaErrorInvalidDevice);
  }
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}
