#include "virtual_gpu/smi/card.h"

#include <array>

#include "abi/nvml.h"

namespace layout = vramfit::abi::nvml;

// NVML's prototypes, as far as they are called here (nvml.h of CUDA 13.0).
extern "C" {
using nvmlDevice = const void*;
int nvmlInit_v2();
int nvmlShutdown();
int nvmlSystemGetDriverVersion(char*, unsigned);
int nvmlSystemGetCudaDriverVersion_v2(int*);
int nvmlSystemGetProcessName(unsigned, char*, unsigned);
int nvmlDeviceGetCount_v2(unsigned*);
int nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice*);
int nvmlDeviceGetName(nvmlDevice, char*, unsigned);
int nvmlDeviceGetUUID(nvmlDevice, char*, unsigned);
int nvmlDeviceGetPciInfo_v3(nvmlDevice, layout::PciInfo*);
int nvmlDeviceGetCudaComputeCapability(nvmlDevice, int*, int*);
int nvmlDeviceGetArchitecture(nvmlDevice, unsigned*);
int nvmlDeviceGetMemoryInfo(nvmlDevice, layout::Memory*);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice, layout::MemoryV2*);
int nvmlDeviceGetBAR1MemoryInfo(nvmlDevice, layout::Memory*);
int nvmlDeviceGetFanSpeed(nvmlDevice, unsigned*);
int nvmlDeviceGetTemperature(nvmlDevice, int, unsigned*);
int nvmlDeviceGetPowerUsage(nvmlDevice, unsigned*);
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice, unsigned*);
int nvmlDeviceGetUtilizationRates(nvmlDevice, layout::Utilization*);
int nvmlDeviceGetClockInfo(nvmlDevice, int, unsigned*);
int nvmlDeviceGetMaxClockInfo(nvmlDevice, int, unsigned*);
int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice, unsigned*);
int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice, unsigned*);
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice, unsigned*);
int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice, unsigned*);
int nvmlDeviceGetEncoderUtilization(nvmlDevice, unsigned*, unsigned*);
int nvmlDeviceGetDecoderUtilization(nvmlDevice, unsigned*, unsigned*);
int nvmlDeviceGetEncoderStats(nvmlDevice, unsigned*, unsigned*, unsigned*);
int nvmlDeviceGetSerial(nvmlDevice, char*, unsigned);
int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice, unsigned long long*);
int nvmlDeviceGetPerformanceState(nvmlDevice, int*);
int nvmlDeviceGetComputeMode(nvmlDevice, int*);
int nvmlDeviceGetPersistenceMode(nvmlDevice, int*);
int nvmlDeviceGetDisplayActive(nvmlDevice, int*);
int nvmlDeviceGetMigMode(nvmlDevice, unsigned*, unsigned*);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice, unsigned*);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice, unsigned, nvmlDevice*);
int nvmlDeviceGetGpuInstanceId(nvmlDevice, unsigned*);
int nvmlDeviceGetComputeInstanceId(nvmlDevice, unsigned*);
int nvmlDeviceGetAttributes_v2(nvmlDevice, layout::DeviceAttributes*);
int nvmlDeviceGetEccMode(nvmlDevice, int*, int*);
int nvmlDeviceGetTotalEccErrors(nvmlDevice, int, int, unsigned long long*);
int nvmlDeviceGetInforomVersion(nvmlDevice, int, char*, unsigned);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice, unsigned*, layout::ProcessV2*);
}

namespace vramfit::smi {
namespace {

constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr int kSmClock = 1, kMemoryClock = 2;
constexpr size_t kTextBytes = 256;

using Text = std::array<char, kTextBytes>;

template <typename Out, typename Ask, typename... Arguments>
std::optional<Out> reading(Ask ask, Arguments... arguments) {
  Out value{};
  return ask(arguments..., &value) == kSuccess ? std::optional<Out>(value) : std::nullopt;
}

template <typename Ask, typename Asked>
std::string text_of(Ask ask, Asked asked) {
  Text text{};
  return ask(asked, text.data(), static_cast<unsigned>(text.size())) == kSuccess ? text.data() : "";
}

std::vector<Process> processes_of(nvmlDevice device) {
  std::vector<layout::ProcessV2> found;
  unsigned count = 0;
  int answer = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, nullptr);
  for (int attempt = 0; answer == kInsufficientSize && attempt < 4; ++attempt) {  // more may come in between
    found.resize(count + 4);
    count = static_cast<unsigned>(found.size());
    answer = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, found.data());
  }
  std::vector<Process> processes;
  for (unsigned i = 0; answer == kSuccess && i < count; ++i) {
    const bool is_known = found[i].used_bytes != ~uint64_t{0};
    processes.push_back({found[i].pid, text_of(nvmlSystemGetProcessName, found[i].pid),
                         is_known ? std::optional(found[i].used_bytes) : std::nullopt});
    if (found[i].gpu_instance == layout::kNoInstance) continue;
    processes.back().gpu_instance = found[i].gpu_instance;
    processes.back().compute_instance = found[i].compute_instance;
  }
  return processes;
}

void read_memory(nvmlDevice device, Card& card) {
  layout::MemoryV2 memory{};
  memory.version = layout::kMemoryV2Version;
  if (nvmlDeviceGetMemoryInfo_v2(device, &memory) == kSuccess) {
    card.total_bytes = memory.total;
    card.reserved_bytes = memory.reserved;
    card.used_bytes = memory.used;
    card.free_bytes = memory.free;
  } else if (const auto older = reading<layout::Memory>(nvmlDeviceGetMemoryInfo, device)) {
    card.total_bytes = older->total;
    card.used_bytes = older->used;
    card.free_bytes = older->free;
  }
  if (const auto bar1 = reading<layout::Memory>(nvmlDeviceGetBAR1MemoryInfo, device)) {
    card.bar1_total_bytes = bar1->total;
    card.bar1_used_bytes = bar1->used;
  }
}

void read_readings(nvmlDevice device, Card& card) {
  card.fan_percent = reading<unsigned>(nvmlDeviceGetFanSpeed, device);
  card.temperature_c = reading<unsigned>(nvmlDeviceGetTemperature, device, 0);
  card.power_mw = reading<unsigned>(nvmlDeviceGetPowerUsage, device);
  card.power_limit_mw = reading<unsigned>(nvmlDeviceGetEnforcedPowerLimit, device);
  if (const auto busy = reading<layout::Utilization>(nvmlDeviceGetUtilizationRates, device)) {
    card.busy_percent = busy->gpu;
    card.memory_busy_percent = busy->memory;
  }
  card.sm_mhz = reading<unsigned>(nvmlDeviceGetClockInfo, device, kSmClock);
  card.memory_mhz = reading<unsigned>(nvmlDeviceGetClockInfo, device, kMemoryClock);
  card.max_sm_mhz = reading<unsigned>(nvmlDeviceGetMaxClockInfo, device, kSmClock);
  card.max_memory_mhz = reading<unsigned>(nvmlDeviceGetMaxClockInfo, device, kMemoryClock);
  card.pcie_generation = reading<unsigned>(nvmlDeviceGetCurrPcieLinkGeneration, device);
  card.pcie_width = reading<unsigned>(nvmlDeviceGetCurrPcieLinkWidth, device);
  card.max_pcie_generation = reading<unsigned>(nvmlDeviceGetMaxPcieLinkGeneration, device);
  card.max_pcie_width = reading<unsigned>(nvmlDeviceGetMaxPcieLinkWidth, device);
  unsigned percent = 0, period_us = 0;
  if (nvmlDeviceGetEncoderUtilization(device, &percent, &period_us) == kSuccess) card.encoder_percent = percent;
  if (nvmlDeviceGetDecoderUtilization(device, &percent, &period_us) == kSuccess) card.decoder_percent = percent;
  unsigned sessions = 0, frames = 0, latency_us = 0;
  if (nvmlDeviceGetEncoderStats(device, &sessions, &frames, &latency_us) == kSuccess) {
    card.encoder_sessions = sessions, card.encoder_frames = frames, card.encoder_latency_us = latency_us;
  }
  card.throttle_reasons = reading<unsigned long long>(nvmlDeviceGetCurrentClocksEventReasons, device);
  card.performance_state = reading<int>(nvmlDeviceGetPerformanceState, device);
  card.compute_mode = reading<int>(nvmlDeviceGetComputeMode, device);
  card.persistence = reading<int>(nvmlDeviceGetPersistenceMode, device).value_or(0) != 0;
  card.display_active = reading<int>(nvmlDeviceGetDisplayActive, device).value_or(0) != 0;
  unsigned mode = 0, pending = 0;
  if (nvmlDeviceGetMigMode(device, &mode, &pending) == kSuccess) card.mig = mode != 0;
}

Instance read_instance(nvmlDevice device, unsigned number) {
  Instance instance{.number = number};
  instance.name = text_of(nvmlDeviceGetName, device);
  instance.uuid = text_of(nvmlDeviceGetUUID, device);
  instance.gpu_instance = reading<unsigned>(nvmlDeviceGetGpuInstanceId, device).value_or(0);
  instance.compute_instance = reading<unsigned>(nvmlDeviceGetComputeInstanceId, device).value_or(0);
  if (const auto has = reading<layout::DeviceAttributes>(nvmlDeviceGetAttributes_v2, device)) {
    instance.multiprocessors = has->multiprocessors;
  }
  if (const auto memory = reading<layout::Memory>(nvmlDeviceGetMemoryInfo, device)) {
    instance.total_bytes = memory->total, instance.used_bytes = memory->used;
  }
  if (const auto bar1 = reading<layout::Memory>(nvmlDeviceGetBAR1MemoryInfo, device)) {
    instance.bar1_total_bytes = bar1->total, instance.bar1_used_bytes = bar1->used;
  }
  return instance;
}

void read_instances(nvmlDevice device, Card& card) {
  const unsigned most = reading<unsigned>(nvmlDeviceGetMaxMigDeviceCount, device).value_or(0);
  for (unsigned i = 0; i < most; ++i) {
    nvmlDevice instance = nullptr;
    if (nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) != kSuccess) continue;
    card.instances.push_back(read_instance(instance, i));
  }
}

void read_health(nvmlDevice device, Card& card) {
  constexpr int kUncorrected = 1, kVolatile = 0, kOem = 0, kEcc = 1;
  int current = 0, pending = 0;
  if (nvmlDeviceGetEccMode(device, &current, &pending) == kSuccess) card.ecc = current != 0;
  card.uncorrected_errors = reading<unsigned long long>(nvmlDeviceGetTotalEccErrors, device, kUncorrected, kVolatile);
  Text text{};
  const auto room = static_cast<unsigned>(text.size());
  if (nvmlDeviceGetInforomVersion(device, kOem, text.data(), room) == kSuccess) card.inforom_oem = text.data();
  if (nvmlDeviceGetInforomVersion(device, kEcc, text.data(), room) == kSuccess) card.inforom_ecc = text.data();
}

int read_card(unsigned index, Card& card) {
  nvmlDevice device = nullptr;
  if (const int answer = nvmlDeviceGetHandleByIndex_v2(index, &device); answer != kSuccess) return answer;
  card.index = index;
  card.name = text_of(nvmlDeviceGetName, device);
  card.uuid = text_of(nvmlDeviceGetUUID, device);
  card.serial = text_of(nvmlDeviceGetSerial, device);
  if (const auto pci = reading<layout::PciInfo>(nvmlDeviceGetPciInfo_v3, device)) card.bus_id = pci->bus_id;
  nvmlDeviceGetCudaComputeCapability(device, &card.compute_major, &card.compute_minor);
  card.architecture = reading<unsigned>(nvmlDeviceGetArchitecture, device).value_or(0);
  read_memory(device, card);
  read_readings(device, card);
  read_health(device, card);
  read_instances(device, card);
  card.processes = processes_of(device);
  return kSuccess;
}

}  // namespace

int read_machine(Machine& machine, std::string& which) {
  if (const int answer = nvmlInit_v2(); answer != kSuccess) return answer;
  Text text{};
  if (nvmlSystemGetDriverVersion(text.data(), static_cast<unsigned>(text.size())) == kSuccess)
    machine.driver = text.data();
  machine.cuda = reading<int>(nvmlSystemGetCudaDriverVersion_v2).value_or(0);
  const unsigned count = reading<unsigned>(nvmlDeviceGetCount_v2).value_or(0);
  int answer = kSuccess;
  for (unsigned i = 0; i < count && answer == kSuccess; ++i) {
    answer = read_card(i, machine.cards.emplace_back());
    if (answer != kSuccess) which = "GPU" + std::to_string(i);
  }
  nvmlShutdown();
  return answer;
}

std::string cuda_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string architecture_text(unsigned architecture) {
  constexpr std::array kNames = {"Unknown", "Unknown", "Kepler",       "Maxwell", "Pascal",   "Volta",
                                 "Turing",  "Ampere",  "Ada Lovelace", "Hopper",  "Blackwell"};
  return architecture < kNames.size() ? kNames[architecture] : kNames[0];
}

std::string brand_text(const std::string& name) {
  for (const char* const brand : {"GeForce", "Quadro RTX", "Quadro", "TITAN", "Tesla"}) {
    if (name.find(brand) != std::string::npos) return brand;
  }
  return name.starts_with("NVIDIA RTX") ? "NVIDIA RTX" : "NVIDIA";
}

std::string compute_mode_text(int mode) {
  switch (mode) {
    case 0:
      return "Default";
    case 2:
      return "Prohibited";
    case 3:
      return "Exclusive_Process";
    default:
      return "N/A";
  }
}

}  // namespace vramfit::smi
