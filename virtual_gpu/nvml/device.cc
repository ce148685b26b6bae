// Cards: finding them, what they are called, how much memory they have. Readings that only silicon would really
// have are in readings.cc.
#include <cstdio>
#include <cstring>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/visible.h"
#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {
namespace {

// The bus number that cudaDeviceGetPCIBusId also tells: cards follow each other from bus 1 on.
constexpr unsigned kFirstBus = 1;

int find_by_bus(const vf_ledger& book, const char* text, Handle* handle) {
  unsigned domain = 0, bus = 0, device = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3) return kInvalidArgument;
  if (bus < kFirstBus || bus - kFirstBus >= book.card_count) return kNotFound;
  *handle = &book.cards[bus - kFirstBus];
  return kSuccess;
}

// Runs `ask` with the ledger and the card's index, after the checks that every question about a card needs.
template <typename Ask>
int about(Handle handle, const void* out, Ask ask) {
  if (out == nullptr) return kInvalidArgument;
  const vf_ledger* book = ledger_if_initialised();
  if (book == nullptr) return why_no_ledger();
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const int index = index_of(handle);
  if (index < 0) return kInvalidArgument;
  return ask(*book, index);
}

template <typename Told>
int tell_slice_memory(Handle handle, Told& told) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const auto slice = slice_of(handle);
  if (!slice) return kInvalidArgument;
  told.total = slice->total;
  told.used = slice->used;
  told.free = slice->used < slice->total ? slice->total - slice->used : 0;
  return kSuccess;
}

}  // namespace

Handle handle_of_card(int card) { return &ledger_if_initialised()->cards[card]; }

int index_of(Handle handle) {
  const vf_ledger* book = ledger_if_initialised();
  if (book == nullptr || handle < book->cards || handle >= book->cards + book->card_count) return -1;
  return static_cast<int>(handle - book->cards);
}

}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace ledger = vramfit::ledger;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetCount_v2(unsigned* count) {
  if (count == nullptr) return nvml::kInvalidArgument;
  const vf_ledger* book = nvml::ledger_if_initialised();
  *count = book == nullptr ? 0 : book->card_count;
  return book == nullptr ? nvml::why_no_ledger() : nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

VF_ABI int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  if (handle == nullptr) return nvml::kInvalidArgument;
  *handle = nullptr;
  const vf_ledger* book = nvml::ledger_if_initialised();
  if (book == nullptr) return nvml::why_no_ledger();
  if (index >= book->card_count) return nvml::kInvalidArgument;
  if (const int answer = nvml::forced_answer(&book->cards[index]); answer != nvml::kSuccess) return answer;
  *handle = &book->cards[index];
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

VF_ABI int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  if (uuid == nullptr || handle == nullptr) return nvml::kInvalidArgument;
  *handle = nullptr;
  const vf_ledger* book = nvml::ledger_if_initialised();
  if (book == nullptr) return nvml::why_no_ledger();
  for (uint32_t i = 0; i < book->card_count; ++i) {
    if (vramfit::ledger::whole_uuid_text(book->cards[i]) == uuid) *handle = &book->cards[i];
    for (unsigned slice = 0; slice < nvml::slice_count(static_cast<int>(i)); ++slice) {
      const Handle named = nvml::slice_handle(static_cast<int>(i), slice);
      if (const auto found = nvml::slice_of(named); found && found->uuid == uuid) *handle = named;
    }
  }
  return *handle == nullptr ? nvml::kNotFound : nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* handle) {
  if (bus_id == nullptr || handle == nullptr) return nvml::kInvalidArgument;
  *handle = nullptr;
  const vf_ledger* book = nvml::ledger_if_initialised();
  return book == nullptr ? nvml::why_no_ledger() : nvml::find_by_bus(*book, bus_id, handle);
}

VF_ABI int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

VF_ABI int nvmlDeviceGetIndex(Handle handle, unsigned* index) {
  return nvml::about(handle, index, [&](const vf_ledger&, int card) {
    *index = static_cast<unsigned>(card);
    return static_cast<int>(nvml::kSuccess);
  });
}

// Its bus, as nvidia-smi makes the number of a board.
VF_ABI int nvmlDeviceGetBoardId(Handle handle, unsigned* board) {
  return nvml::about(handle, board, [&](const vf_ledger&, int card) {
    *board = (nvml::kFirstBus + static_cast<unsigned>(card)) << 8;
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetMultiGpuBoard(Handle handle, unsigned* is_of_several) {
  return nvml::about(handle, is_of_several, [&](const vf_ledger&, int) {
    *is_of_several = 0;
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetMinorNumber(Handle handle, unsigned* minor) { return nvmlDeviceGetIndex(handle, minor); }

VF_ABI int nvmlDeviceGetName(Handle handle, char* name, unsigned bytes) {
  if (const auto slice = nvml::slice_of(handle)) return nvml::copy_text(slice->name, name, bytes);
  return nvml::about(handle, name, [&](const vf_ledger& book, int card) {
    return nvml::copy_text(nvml::card_name(book.cards[card]), name, bytes);
  });
}

VF_ABI int nvmlDeviceGetUUID(Handle handle, char* uuid, unsigned bytes) {
  if (const auto slice = nvml::slice_of(handle)) return nvml::copy_text(slice->uuid, uuid, bytes);
  return nvml::about(handle, uuid, [&](const vf_ledger& book, int card) {
    return nvml::copy_text(vramfit::ledger::whole_uuid_text(book.cards[card]), uuid, bytes);
  });
}

VF_ABI int nvmlDeviceGetPciInfo_v3(Handle handle, nvml::PciInfo* info) {
  return nvml::about(handle, info, [&](const vf_ledger&, int card) {
    std::memset(info, 0, sizeof *info);
    info->bus = nvml::kFirstBus + static_cast<unsigned>(card);
    std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    std::snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "0000:%02X:00.0", info->bus);
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  if (minor == nullptr) return nvml::kInvalidArgument;
  return nvml::about(handle, major, [&](const vf_ledger& book, int card) {
    *major = book.cards[card].compute_major;
    *minor = book.cards[card].compute_minor;
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetMemoryInfo(Handle handle, nvml::Memory* memory) {
  if (memory != nullptr && nvml::is_slice(handle)) return nvml::tell_slice_memory(handle, *memory);
  return nvml::about(handle, memory, [&](const vf_ledger& book, int card) {
    memory->total = static_cast<uint64_t>(nvml::card_bytes(book.cards[card]));
    memory->used = static_cast<uint64_t>(ledger::living_bytes(book, card) + nvml::scripted(card)->extra_bytes());
    memory->free = memory->used < memory->total ? memory->total - memory->used : 0;
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetMemoryInfo_v2(Handle handle, nvml::MemoryV2* memory) {
  if (memory != nullptr && memory->version != nvml::kMemoryV2Version) return nvml::kArgumentVersionMismatch;
  if (memory != nullptr && nvml::is_slice(handle)) {
    memory->reserved = 0;
    return nvml::tell_slice_memory(handle, *memory);
  }
  return nvml::about(handle, memory, [&](const vf_ledger& book, int card) {
    if (nvml::scripted(card)->old) return static_cast<int>(nvml::kFunctionNotFound);
    memory->total = static_cast<uint64_t>(nvml::card_bytes(book.cards[card]));
    memory->reserved = 0;  // what the driver keeps is already left out of total_bytes
    memory->used = static_cast<uint64_t>(ledger::living_bytes(book, card) + nvml::scripted(card)->extra_bytes());
    memory->free = memory->used < memory->total ? memory->total - memory->used : 0;
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetComputeMode(Handle handle, int* mode) {
  return nvml::about(handle, mode, [&](const vf_ledger&, int) {
    *mode = 0;  // NVML_COMPUTEMODE_DEFAULT: several processes may use a card
    return static_cast<int>(nvml::kSuccess);
  });
}

VF_ABI int nvmlDeviceGetP2PStatus(Handle one, Handle other, int, int* status) {
  if (nvml::index_of(other) < 0) return nvml::kInvalidArgument;
  return nvml::about(one, status, [&](const vf_ledger&, int) {
    *status = 0;  // NVML_P2P_STATUS_OK
    return static_cast<int>(nvml::kSuccess);
  });
}
