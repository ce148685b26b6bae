// Devices: which there are, what they are like, which one the thread works on.
#include <cstdio>
#include <cstring>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/device/stream.h"

using vramfit::cudart::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

int attribute(cudaDeviceAttr which, int card) {
  int value = 0;
  cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), card);
  return value;
}

void set_limits(cudaDeviceProp& properties, int card) {
  properties.sharedMemPerBlock = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock, card));
  properties.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock, card);
  properties.warpSize = attribute(cudaDevAttrWarpSize, card);
  properties.memPitch = static_cast<size_t>(attribute(cudaDevAttrMaxPitch, card));
  properties.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock, card);
  const cudaDeviceAttr block[] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
  const cudaDeviceAttr grid[] = {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ};
  for (int i = 0; i < 3; ++i) {
    properties.maxThreadsDim[i] = attribute(block[i], card);
    properties.maxGridSize[i] = attribute(grid[i], card);
  }
  properties.totalConstMem = static_cast<size_t>(attribute(cudaDevAttrTotalConstantMemory, card));
  properties.textureAlignment = static_cast<size_t>(attribute(cudaDevAttrTextureAlignment, card));
  properties.texturePitchAlignment = static_cast<size_t>(attribute(cudaDevAttrTexturePitchAlignment, card));
  properties.surfaceAlignment = static_cast<size_t>(attribute(cudaDevAttrSurfaceAlignment, card));
  properties.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, card);
  properties.maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor, card);
  properties.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor, card);
  properties.sharedMemPerMultiprocessor =
      static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, card));
  properties.sharedMemPerBlockOptin = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, card));
  properties.reservedSharedMemPerBlock = static_cast<size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock, card));
}

void set_abilities(cudaDeviceProp& properties, int card) {
  properties.integrated = attribute(cudaDevAttrIntegrated, card);
  properties.canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory, card);
  properties.concurrentKernels = attribute(cudaDevAttrConcurrentKernels, card);
  properties.ECCEnabled = attribute(cudaDevAttrEccEnabled, card);
  properties.asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount, card);
  properties.unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing, card);
  properties.streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported, card);
  properties.globalL1CacheSupported = attribute(cudaDevAttrGlobalL1CacheSupported, card);
  properties.localL1CacheSupported = attribute(cudaDevAttrLocalL1CacheSupported, card);
  properties.managedMemory = attribute(cudaDevAttrManagedMemory, card);
  properties.concurrentManagedAccess = attribute(cudaDevAttrConcurrentManagedAccess, card);
  properties.computePreemptionSupported = attribute(cudaDevAttrComputePreemptionSupported, card);
  properties.canUseHostPointerForRegisteredMem = attribute(cudaDevAttrCanUseHostPointerForRegisteredMem, card);
  properties.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch, card);
  properties.hostRegisterSupported = attribute(cudaDevAttrHostRegisterSupported, card);
  properties.memoryPoolsSupported = attribute(cudaDevAttrMemoryPoolsSupported, card);
  properties.ipcEventSupported = attribute(cudaDevAttrIpcEventSupport, card);
  properties.clusterLaunch = attribute(cudaDevAttrClusterLaunch, card);
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  VF_NEED(count);
  *count = ledger::card_count();
  VF_NEED_CARD();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* card) {
  VF_NEED(card);
  *card = ledger::current_card();
  VF_NEED_CARD();
  return cudaSuccess;
}

// Since CUDA 12 choosing a card also makes its context.
cudaError_t cudaSetDevice(int card) {
  VF_NEED_CARD();
  if (!ledger::set_current_card(card)) return answer(cudaErrorInvalidDevice);
  return ledger::touch(card) ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaInitDevice(int card, unsigned, unsigned) {
  VF_NEED_CARD();
  if (ledger::card(card) == nullptr) return answer(cudaErrorInvalidDevice);
  return ledger::touch(card) ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaSetValidDevices(int* cards, int count) {
  VF_NEED_CARD();
  for (int i = 0; i < count; ++i) {
    if (ledger::card(cards[i]) == nullptr) return answer(cudaErrorInvalidDevice);
  }
  if (count > 0) ledger::set_current_card(cards[0]);
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  VF_NEED_CARD();
  return answer(cuDevicePrimaryCtxSetFlags(ledger::current_card(), flags));
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  VF_NEED(flags);
  *flags = 0;
  VF_NEED_CARD();
  int is_active = 0;
  return answer(cuDevicePrimaryCtxGetState(ledger::current_card(), flags, &is_active));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int card) {
  VF_NEED(properties);
  std::memset(properties, 0, sizeof *properties);
  VF_NEED_CARD();
  const vf_card* facts = ledger::card(card);
  if (facts == nullptr) return answer(cudaErrorInvalidDevice);
  std::snprintf(properties->name, sizeof properties->name, "%s", facts->name);
  std::memcpy(properties->uuid.bytes, facts->uuid, sizeof facts->uuid);
  properties->totalGlobalMem = static_cast<size_t>(facts->total_bytes);
  properties->major = facts->compute_major;
  properties->minor = facts->compute_minor;
  properties->multiProcessorCount = facts->sm_count;
  properties->l2CacheSize = attribute(cudaDevAttrL2CacheSize, card);
  properties->memoryBusWidth = facts->memory_bus_bits;
  properties->pciBusID = attribute(cudaDevAttrPciBusId, card);
  set_limits(*properties, card);
  set_abilities(*properties, card);
#if CUDART_VERSION < 13000
  properties->clockRate = facts->sm_clock_khz;
  properties->memoryClockRate = facts->memory_clock_khz;
  properties->deviceOverlap = 1;
  properties->cooperativeMultiDeviceLaunch = attribute(cudaDevAttrCooperativeMultiDeviceLaunch, card);
#endif
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int card) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_CARD();
  return answer(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(which), card));
}

cudaError_t cudaChooseDevice(int* card, const cudaDeviceProp* wanted) {
  VF_NEED(card);
  VF_NEED(wanted);
  *card = 0;
  VF_NEED_CARD();
  for (int i = 0; i < ledger::card_count(); ++i) {
    const vf_card* facts = ledger::card(i);
    const bool is_newer = facts->compute_major > wanted->major ||
                          (facts->compute_major == wanted->major && facts->compute_minor >= wanted->minor);
    if (is_newer && static_cast<size_t>(facts->total_bytes) >= wanted->totalGlobalMem) {
      *card = i;
      break;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int card) {
  VF_NEED(text);
  VF_NEED_CARD();
  return answer(cuDeviceGetPCIBusId(text, length, card));
}

cudaError_t cudaDeviceGetByPCIBusId(int* card, const char* text) {
  VF_NEED(card);
  VF_NEED(text);
  *card = 0;
  VF_NEED_CARD();
  CUdevice found = 0;
  const CUresult result = cuDeviceGetByPCIBusId(&found, text);
  *card = found;
  return answer(result);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = device::kLeastPriority;
  if (greatest != nullptr) *greatest = device::kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int card, int peer) {
  VF_NEED(can);
  *can = 0;
  VF_NEED_CARD();
  return answer(cuDeviceCanAccessPeer(can, card, peer));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  VF_NEED_CARD();
  CUcontext context = nullptr;
  if (const CUresult result = cuDevicePrimaryCtxRetain(&context, peer); result != CUDA_SUCCESS) return answer(result);
  return answer(cuCtxEnablePeerAccess(context, 0));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  VF_NEED_CARD();
  CUcontext context = nullptr;
  if (const CUresult result = cuDevicePrimaryCtxRetain(&context, peer); result != CUDA_SUCCESS) return answer(result);
  return answer(cuCtxDisablePeerAccess(context));
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int card, int peer) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_CARD();
  return answer(cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(which), card, peer));
}

cudaError_t cudaDeviceSynchronize() {
  VF_NEED_CARD();
  if (const device::Error error = vramfit::cudart::touch_current(); error != device::Error::kNone) {
    return answer(error);
  }
  return answer(device::synchronize_card(ledger::current_card()));
}

cudaError_t cudaDeviceReset() {
  VF_NEED_CARD();
  device::release_all_on(ledger::current_card());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit which) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_CARD();
  return answer(cuCtxGetLimit(value, static_cast<CUlimit>(which)));
}

cudaError_t cudaDeviceSetLimit(cudaLimit which, size_t value) {
  VF_NEED_CARD();
  return answer(cuCtxSetLimit(static_cast<CUlimit>(which), value));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  VF_NEED(config);
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
