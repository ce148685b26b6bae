// NVML on the virtual cards: what PyTorch's out-of-memory text, nvidia-ml-py and monitoring tools ask.
//
// NVML sees every card of the ledger whatever CUDA_VISIBLE_DEVICES says, needs no context and survives a fork, so it
// only looks at the ledger.
#include "abi/nvml.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/ledger/visible.h"

namespace {

namespace ledger = vramfit::ledger;

constexpr unsigned kNotOnInstance = 0xffffffff;  // no MIG
constexpr unsigned kIdleCelsius = 30;
constexpr unsigned kIdleMilliwatts = 30000;
constexpr unsigned kLimitMilliwatts = 250000;

const vf_ledger* cards() { return ledger::observe(); }

// A handle is the card's index plus one.
nvmlDevice_t handle_of(unsigned index) { return reinterpret_cast<nvmlDevice_t>(static_cast<uintptr_t>(index) + 1); }

int index_of(nvmlDevice_t device) {
  const auto number = reinterpret_cast<uintptr_t>(device);
  const vf_ledger* all = cards();
  return all == nullptr || number == 0 || number > all->card_count ? -1 : static_cast<int>(number - 1);
}

const vf_card* card_of(nvmlDevice_t device) {
  const int index = index_of(device);
  return index < 0 ? nullptr : &cards()->cards[index];
}

nvmlReturn_t write_text(char* to, unsigned length, const std::string& text) {
  if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

template <typename Value>
nvmlReturn_t write(nvmlDevice_t device, Value* to, Value value) {
  if (to == nullptr || index_of(device) < 0) return NVML_ERROR_INVALID_ARGUMENT;
  *to = value;
  return NVML_SUCCESS;
}

int64_t used_bytes(int index) { return __atomic_load_n(&cards()->use[index].used_bytes, __ATOMIC_RELAXED); }

std::vector<nvmlProcessInfo_v2_t> processes_on(int index) {
  std::vector<nvmlProcessInfo_v2_t> found;
  for (const vf_process& process : cards()->processes) {
    if (process.pid == 0 || process.used_bytes[index] == 0) continue;
    found.push_back({static_cast<unsigned>(process.pid), static_cast<unsigned long long>(process.used_bytes[index]),
                     kNotOnInstance, kNotOnInstance});
  }
  return found;
}

// `count` is the room there is, and becomes how many there are.
template <typename Info, typename Convert>
nvmlReturn_t list_processes(nvmlDevice_t device, unsigned* count, Info* infos, Convert convert) {
  const int index = index_of(device);
  if (index < 0 || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const std::vector<nvmlProcessInfo_v2_t> found = processes_on(index);
  const size_t room = infos == nullptr ? 0 : *count;
  *count = static_cast<unsigned>(found.size());
  if (room < found.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::ranges::transform(found, infos, convert);
  return NVML_SUCCESS;
}

void write_pci(nvmlPciInfo_t& pci, int index) {
  pci = {};
  pci.bus = static_cast<unsigned>(index) + 1;
  std::snprintf(pci.busIdLegacy, sizeof pci.busIdLegacy, "0000:%02X:00.0", pci.bus);
  std::snprintf(pci.busId, sizeof pci.busId, "00000000:%02X:00.0", pci.bus);
}

// nvmlClockType_t: graphics and SM alike, memory apart.
unsigned clock_mhz(const vf_card& card, int type) {
  const int32_t khz = type == 2 ? card.memory_clock_khz : card.sm_clock_khz;
  return static_cast<unsigned>(std::max(khz, 0) / 1000);
}

// nvmlDeviceArchitecture_t by compute capability.
unsigned architecture(const vf_card& card) {
  const int capability = 10 * card.compute_major + card.compute_minor;
  if (capability >= 100) return 10;  // Blackwell
  if (capability >= 90) return 9;    // Hopper
  if (capability == 89) return 8;    // Ada
  if (capability >= 80) return 7;    // Ampere
  if (capability >= 75) return 6;    // Turing
  if (capability >= 70) return 5;    // Volta
  return capability >= 60 ? 4 : 3;   // Pascal, Maxwell
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlInit_v2() { return cards() == nullptr ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS; }
nvmlReturn_t nvmlInit() { return nvmlInit_v2(); }
nvmlReturn_t nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

const char* nvmlErrorString(nvmlReturn_t error) {
  switch (error) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
      return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
      return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "GPU access blocked by the operating system";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE:
      return "In use by another client";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
      return "No data";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = cards() == nullptr ? 0 : static_cast<int>(cards()->driver_version);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return cards() == nullptr ? NVML_ERROR_UNINITIALIZED : write_text(text, length, cards()->driver_name);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  if (cards() == nullptr) return NVML_ERROR_UNINITIALIZED;
  return write_text(text, length, std::to_string(cards()->driver_version / 1000) + "." + cards()->driver_name);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  *name = '\0';
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/comm").c_str(), "r");
  if (file == nullptr) return NVML_ERROR_NOT_FOUND;
  if (std::fgets(name, static_cast<int>(length), file) == nullptr) *name = '\0';
  std::fclose(file);
  name[std::strcspn(name, "\n")] = '\0';
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = cards() == nullptr ? 0 : cards()->card_count;
  return cards() == nullptr ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *device = nullptr;
  if (cards() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (index >= cards()->card_count) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handle_of(index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* device) {
  if (device == nullptr || text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *device = nullptr;
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2 || bus == 0) return NVML_ERROR_INVALID_ARGUMENT;
  if (cards() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (domain != 0 || bus > cards()->card_count) return NVML_ERROR_NOT_FOUND;
  *device = handle_of(bus - 1);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* text, nvmlDevice_t* device) {
  if (device == nullptr || text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *device = nullptr;
  if (cards() == nullptr) return NVML_ERROR_UNINITIALIZED;
  for (unsigned index = 0; index < cards()->card_count; ++index) {
    if (ledger::uuid_text(cards()->cards[index]) == text) *device = handle_of(index);
  }
  return *device == nullptr ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  const vf_card* card = card_of(device);
  return card == nullptr ? NVML_ERROR_INVALID_ARGUMENT : write_text(name, length, card->name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned length) {
  const vf_card* card = card_of(device);
  return card == nullptr ? NVML_ERROR_INVALID_ARGUMENT : write_text(text, length, ledger::uuid_text(*card));
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return write(device, index, static_cast<unsigned>(std::max(index_of(device), 0)));
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) {
  return nvmlDeviceGetIndex(device, number);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  const vf_card* card = card_of(device);
  if (card == nullptr || major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *major = card->compute_major;
  *minor = card->compute_minor;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* value) {
  const vf_card* card = card_of(device);
  return card == nullptr ? NVML_ERROR_INVALID_ARGUMENT : write(device, value, architecture(*card));
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const vf_card* card = card_of(device);
  if (card == nullptr || memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const int64_t used = std::min(used_bytes(index_of(device)), card->total_bytes);
  memory->total = static_cast<unsigned long long>(card->total_bytes);
  memory->used = static_cast<unsigned long long>(used);
  memory->free = static_cast<unsigned long long>(card->total_bytes - used);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (memory->version != (sizeof(nvmlMemory_v2_t) | 2u << 24)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlMemory_t plain = {};
  const nvmlReturn_t result = nvmlDeviceGetMemoryInfo(device, &plain);
  memory->total = plain.total;
  memory->reserved = 0;  // the ledger's total is what is left after the driver's own share
  memory->free = plain.free;
  memory->used = plain.used;
  return result;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  if (card_of(device) == nullptr || memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *memory = {256ull << 20, 256ull << 20, 0};  // boards without resizable BAR
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* infos) {
  return list_processes(device, count, infos, [](const nvmlProcessInfo_v2_t& info) {
    return nvmlProcessInfo_v1_t{info.pid, info.usedGpuMemory};
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return list_processes(device, count, infos, [](const nvmlProcessInfo_v2_t& info) { return info; });
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return nvmlDeviceGetComputeRunningProcesses_v2(device, count, infos);
}

// Nobody draws on a virtual card.
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned* count, void*) {
  return write(device, count, 0u);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count, void*) {
  return write(device, count, 0u);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count, void*) {
  return write(device, count, 0u);
}

// A virtual card is always idle: nothing computes on it.
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  return write(device, rates, nvmlUtilization_t{0, 0});
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int, unsigned* celsius) {
  return write(device, celsius, kIdleCelsius);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return write(device, milliwatts, kIdleMilliwatts);
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return write(device, milliwatts, kLimitMilliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return write(device, milliwatts, kLimitMilliwatts);
}
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, int* state) { return write(device, state, 8); }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int* mode) { return write(device, mode, 0); }
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int* mode) { return write(device, mode, 0); }
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, int* mode) { return write(device, mode, 0); }
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, int* active) { return write(device, active, 0); }

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned* mhz) {
  const vf_card* card = card_of(device);
  return card == nullptr ? NVML_ERROR_INVALID_ARGUMENT : write(device, mhz, clock_mhz(*card, type));
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned* mhz) {
  return nvmlDeviceGetClockInfo(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  const vf_card* card = card_of(device);
  return card == nullptr ? NVML_ERROR_INVALID_ARGUMENT
                         : write(device, bits, static_cast<unsigned>(std::max(card->memory_bus_bits, 0)));
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  const int index = index_of(device);
  if (index < 0 || pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  write_pci(*pci, index);
  return NVML_SUCCESS;
}

// nvmlGpuP2PStatus_t 0: any card reaches any other.
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, int, int* status) {
  return index_of(peer) < 0 ? NVML_ERROR_INVALID_ARGUMENT : write(device, status, 0);
}

// nvmlGpuTopologyLevel_t 30: on one host bridge.
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t peer, int* level) {
  return index_of(peer) < 0 ? NVML_ERROR_INVALID_ARGUMENT
                            : write(device, level, index_of(device) == index_of(peer) ? 0 : 30);
}

// Asked by PyTorch and NCCL at every start and answered so by every board without NVLink or fabric: no note.
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned, int*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t, unsigned, int, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned, int*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned, nvmlPciInfo_t*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t, unsigned*, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t, int*, int*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t, char*, unsigned) { return NVML_ERROR_NOT_SUPPORTED; }

}  // extern "C"
#pragma GCC visibility pop
