// Readings: clocks, power, temperature, utilisation, links. A virtual card is idle: nothing computes on it. Monitors
// that run beside a training job ask these at every step, so each has an answer.
#include <algorithm>
#include <cstdio>
#include <string>

#include "virtual_gpu/nvml/nvml.h"

namespace vramfit::nvml {
namespace {

constexpr unsigned kIdleCelsius = 30;
constexpr unsigned kIdleMilliwatts = 30000;
constexpr unsigned kLimitMilliwatts = 250000;
constexpr int kIdlePerformanceState = 8;  // NVML_PSTATE_8
constexpr int kSameHostBridge = 30;       // NVML_TOPOLOGY_HOSTBRIDGE
constexpr int kMemoryClock = 2;           // NVML_CLOCK_MEM; the others follow the multiprocessors

struct Utilization {
  unsigned gpu, memory;
};

template <typename Value>
int tell(Handle handle, Value* out, Value value) {
  if (out == nullptr || index_of(handle) < 0) return kInvalidArgument;
  *out = value;
  return kSuccess;
}

unsigned megahertz(int32_t khz) { return static_cast<unsigned>(std::max(khz, 0) / 1000); }

// nvmlDeviceArchitecture_t.
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
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetUtilizationRates(Handle handle, nvml::Utilization* rates) {
  return nvml::tell(handle, rates, nvml::Utilization{0, 0});
}

VF_ABI int nvmlDeviceGetTemperature(Handle handle, int, unsigned* celsius) {
  return nvml::tell(handle, celsius, nvml::kIdleCelsius);
}

VF_ABI int nvmlDeviceGetPowerUsage(Handle handle, unsigned* milliwatts) {
  return nvml::tell(handle, milliwatts, nvml::kIdleMilliwatts);
}

VF_ABI int nvmlDeviceGetEnforcedPowerLimit(Handle handle, unsigned* milliwatts) {
  return nvml::tell(handle, milliwatts, nvml::kLimitMilliwatts);
}

VF_ABI int nvmlDeviceGetPowerManagementLimit(Handle handle, unsigned* milliwatts) {
  return nvml::tell(handle, milliwatts, nvml::kLimitMilliwatts);
}

VF_ABI int nvmlDeviceGetPerformanceState(Handle handle, int* state) {
  return nvml::tell(handle, state, nvml::kIdlePerformanceState);
}

VF_ABI int nvmlDeviceGetPersistenceMode(Handle handle, int* mode) { return nvml::tell(handle, mode, 0); }
VF_ABI int nvmlDeviceGetDisplayMode(Handle handle, int* mode) { return nvml::tell(handle, mode, 0); }
VF_ABI int nvmlDeviceGetDisplayActive(Handle handle, int* active) { return nvml::tell(handle, active, 0); }

VF_ABI int nvmlDeviceGetClockInfo(Handle handle, int type, unsigned* mhz) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, mhz,
                    nvml::megahertz(type == nvml::kMemoryClock ? handle->memory_clock_khz : handle->sm_clock_khz));
}

VF_ABI int nvmlDeviceGetMaxClockInfo(Handle handle, int type, unsigned* mhz) {
  return nvmlDeviceGetClockInfo(handle, type, mhz);
}

VF_ABI int nvmlDeviceGetMemoryBusWidth(Handle handle, unsigned* bits) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, bits, static_cast<unsigned>(std::max(handle->memory_bus_bits, 0)));
}

VF_ABI int nvmlDeviceGetArchitecture(Handle handle, unsigned* value) {
  return nvml::index_of(handle) < 0 ? nvml::kInvalidArgument : nvml::tell(handle, value, nvml::architecture(*handle));
}

// Boards without resizable BAR.
VF_ABI int nvmlDeviceGetBAR1MemoryInfo(Handle handle, nvml::Memory* memory) {
  return nvml::tell(handle, memory, nvml::Memory{.total = 256u << 20, .free = 256u << 20, .used = 0});
}

VF_ABI int nvmlDeviceGetTopologyCommonAncestor(Handle handle, Handle peer, int* level) {
  if (nvml::index_of(peer) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, level, handle == peer ? 0 : nvml::kSameHostBridge);
}

VF_ABI int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned bytes) {
  if (name == nullptr) return nvml::kInvalidArgument;
  char line[64] = {};
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/comm").c_str(), "r");
  if (file == nullptr) return nvml::kNotFound;
  const bool got = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  if (!got) return nvml::kNotFound;
  const std::string_view text = line;
  return nvml::copy_text(text.substr(0, text.find('\n')), name, bytes);
}

// What every board without NVLink, fabric, MIG or ECC answers; asked so often that a note each time would be noise.
VF_ABI int nvmlDeviceGetNvLinkState(Handle, unsigned, int*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetNvLinkRemoteDeviceType(Handle, unsigned, int*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, void*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetGpuFabricInfo(Handle, void*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetGpuFabricInfoV(Handle, void*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetMigMode(Handle, unsigned*, unsigned*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetEccMode(Handle, int*, int*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetFanSpeed(Handle, unsigned*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetSerial(Handle, char*, unsigned) { return nvml::kNotSupported; }
