// Devices by ordinal, UUID and bus id.
#include <cstdio>
#include <cstring>
#include <set>

#include "virtual_gpu/driver/driver.h"

namespace ledger = vramfit::ledger;

CUresult cuDeviceGetCount(int* count) {
  VF_NEED(count);
  *count = ledger::card_count();
  VF_NEED_CARD();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* card, int ordinal) {
  VF_NEED(card);
  *card = ordinal;
  VF_NEED_THIS_CARD(ordinal);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice card) {
  VF_NEED(name);
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  *name = '\0';
  VF_NEED_THIS_CARD(card);
  std::snprintf(name, static_cast<size_t>(length), "%s", ledger::card(card)->name);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice card) {
  VF_NEED(bytes);
  *bytes = 0;
  VF_NEED_THIS_CARD(card);
  *bytes = static_cast<size_t>(ledger::card(card)->total_bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice card) {
  VF_NEED(uuid);
  std::memset(uuid, 0, sizeof *uuid);
  VF_NEED_THIS_CARD(card);
  std::memcpy(uuid->bytes, ledger::card(card)->uuid, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice card) { return cuDeviceGetUuid_v2(uuid, card); }

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice card) {
  VF_NEED(major);
  VF_NEED(minor);
  *major = *minor = 0;
  VF_NEED_THIS_CARD(card);
  *major = ledger::card(card)->compute_major;
  *minor = ledger::card(card)->compute_minor;
  return CUDA_SUCCESS;
}

// Bus 1 is the ledger's first card, as NVML numbers them too.
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice card) {
  VF_NEED(text);
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  *text = '\0';
  VF_NEED_THIS_CARD(card);
  std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0", ledger::index_in_ledger(card) + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* card, const char* text) {
  VF_NEED(card);
  VF_NEED(text);
  *card = 0;
  VF_NEED_CARD();
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2 && std::sscanf(text, "%x:", &bus) != 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (int ordinal = 0; ordinal < ledger::card_count(); ++ordinal) {
    if (ledger::index_in_ledger(ordinal) + 1 != static_cast<int>(bus)) continue;
    *card = ordinal;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice card, CUdevice peer) {
  VF_NEED(can);
  *can = 0;
  VF_NEED_THIS_CARD(card);
  VF_NEED_THIS_CARD(peer);
  *can = card != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice card, CUdevice peer) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_THIS_CARD(card);
  VF_NEED_THIS_CARD(peer);
  if (card == peer) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) *value = 1;
  return CUDA_SUCCESS;
}
