// Readings: clocks, temperature, utilisation, links. A virtual card is idle: nothing computes on it. Monitors
// that run beside a training job ask these at every step, so each has an answer.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

#include "virtual_gpu/nvml/answer.h"
#include "virtual_gpu/nvml/board.h"

namespace vramfit::nvml {
namespace {

constexpr unsigned kIdleCelsius = 30;
constexpr int kIdlePerformanceState = 8;  // NVML_PSTATE_8
constexpr int kSameHostBridge = 30;       // NVML_TOPOLOGY_HOSTBRIDGE
constexpr int kMemoryClock = 2;           // NVML_CLOCK_MEM; the others follow the multiprocessors

unsigned megahertz(int32_t khz) { return static_cast<unsigned>(std::max(khz, 0) / 1000); }

// nvmlDeviceArchitecture_t.
unsigned architecture(const vf_card& card) {
  if (capability(card) >= 100) return 10;  // Blackwell
  if (capability(card) >= 90) return 9;    // Hopper
  if (capability(card) == 89) return 8;    // Ada
  if (capability(card) >= 80) return 7;    // Ampere
  if (capability(card) >= 75) return 6;    // Turing
  if (capability(card) >= 70) return 5;    // Volta
  if (capability(card) >= 60) return 4;    // Pascal
  return capability(card) >= 50 ? 3 : 2;   // Maxwell, Kepler
}

// FP32 units of a multiprocessor (the CUDA C++ programming guide's table of arithmetic throughput).
unsigned cores_per_multiprocessor(const vf_card& card) {
  if (capability(card) < 50) return 192;  // Kepler
  const bool has_64 = capability(card) == 60 || (capability(card) >= 70 && capability(card) <= 80);
  return has_64 ? 64 : 128;
}

// nvmlBrandType_t, as the card's name says.
int brand(std::string_view name) {
  static constexpr std::pair<std::string_view, int> kBrands[] = {
      {"TITAN RTX", 16},  {"TITAN", 6},  {"GeForce RTX", 15}, {"GeForce", 5},
      {"Quadro RTX", 12}, {"Quadro", 1}, {"NVIDIA RTX", 13},  {"Tesla", 2}};
  for (const auto& [word, number] : kBrands) {
    if (name.contains(word)) return number;
  }
  return 14;  // NVML_BRAND_NVIDIA: A100, H100, L4
}

// PCI Express by the generation of the chip: NVIDIA's data sheets. What shares the processor's memory is in no slot.
unsigned pcie_generation(const vf_card& card) {
  if (capability(card) >= 90) return 5;
  return capability(card) >= 80 ? 4 : 3;
}

constexpr unsigned kLanes = 16;

// Answers for a card in a slot.
int tell_slot(Handle handle, unsigned* out, unsigned value) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  if (index_of(handle) < 0) return kInvalidArgument;
  return handle->is_integrated != 0 ? int{kNotSupported} : tell(handle, out, value);
}

// nvmlGpmSupport_t.
struct GpmSupport {
  unsigned version, is_supported;
};

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetUtilizationRates(Handle handle, nvml::Utilization* rates) {
  const auto slice = nvml::slice_of(handle);
  if (slice || nvml::slice_count(nvml::index_of(handle)) > 0) return nvml::kNotSupported;  // as of a divided card
  const auto busy = nvml::scripted_reading(handle, "utilization");
  const auto memory = nvml::scripted_reading(handle, "memory_utilization");
  return nvml::tell(
      handle, rates,
      nvml::Utilization{static_cast<unsigned>(busy.value_or(0)), static_cast<unsigned>(memory.value_or(0))});
}

// Nothing is encoded or decoded on a virtual card; the sampling period is that of boards since Kepler.
VF_ABI int nvmlDeviceGetEncoderUtilization(Handle handle, unsigned* percent, unsigned* period_us) {
  if (period_us == nullptr) return nvml::kInvalidArgument;
  const int answer = nvml::tell(handle, percent, 0u);
  if (answer == nvml::kSuccess) *period_us = 167000;
  return answer;
}
// JPEG and optical flow have engines of their own since Ampere.
VF_ABI int nvmlDeviceGetJpgUtilization(Handle handle, unsigned* percent, unsigned* period_us) {
  return nvmlDeviceGetEncoderUtilization(handle, percent, period_us);
}
VF_ABI int nvmlDeviceGetOfaUtilization(Handle handle, unsigned* percent, unsigned* period_us) {
  return nvmlDeviceGetEncoderUtilization(handle, percent, period_us);
}
VF_ABI int nvmlDeviceGetDecoderUtilization(Handle handle, unsigned* percent, unsigned* period_us) {
  return nvmlDeviceGetEncoderUtilization(handle, percent, period_us);
}

VF_ABI int nvmlDeviceGetTemperature(Handle handle, int, unsigned* celsius) {
  return nvml::tell_scripted(handle, celsius, "temperature", nvml::kIdleCelsius);
}

VF_ABI int nvmlDeviceGetTemperatureV(Handle handle, nvml::TemperatureV1* told) {
  if (told == nullptr) return nvml::kInvalidArgument;
  if (told->version != nvml::kTemperatureV1Version) return nvml::kArgumentVersionMismatch;
  unsigned celsius = 0;
  const int answer = nvmlDeviceGetTemperature(handle, static_cast<int>(told->sensor), &celsius);
  if (answer == nvml::kSuccess) told->celsius = static_cast<int>(celsius);
  return answer;
}

VF_ABI int nvmlDeviceGetPerformanceState(Handle handle, int* state) {
  return nvml::tell_scripted(handle, state, "performance_state", nvml::kIdlePerformanceState);
}

VF_ABI int nvmlDeviceGetPersistenceMode(Handle handle, int* mode) {
  return nvml::tell_scripted(handle, mode, "persistence", 0);
}
VF_ABI int nvmlDeviceGetDisplayMode(Handle handle, int* mode) { return nvml::tell(handle, mode, 0); }
VF_ABI int nvmlDeviceGetDisplayActive(Handle handle, int* active) { return nvml::tell(handle, active, 0); }

VF_ABI int nvmlDeviceGetMaxClockInfo(Handle handle, int type, unsigned* mhz) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, mhz,
                    nvml::megahertz(type == nvml::kMemoryClock ? handle->memory_clock_khz : handle->sm_clock_khz));
}

VF_ABI int nvmlDeviceGetClockInfo(Handle handle, int type, unsigned* mhz) {
  const auto reading = nvml::scripted_reading(handle, type == nvml::kMemoryClock ? "memory_clock" : "sm_clock");
  return reading ? nvml::tell(handle, mhz, static_cast<unsigned>(*reading))
                 : nvmlDeviceGetMaxClockInfo(handle, type, mhz);
}

VF_ABI int nvmlDeviceGetMaxCustomerBoostClock(Handle handle, int type, unsigned* mhz) {
  return nvmlDeviceGetMaxClockInfo(handle, type, mhz);
}

// `which` clock: the one at the moment, or the highest that a user may ask for. Applications' clocks are nobody's.
VF_ABI int nvmlDeviceGetClock(Handle handle, int type, int which, unsigned* mhz) {
  constexpr int kCurrent = 0, kCustomerBoost = 3;
  if (which == kCurrent) return nvmlDeviceGetClockInfo(handle, type, mhz);
  if (which == kCustomerBoost) return nvmlDeviceGetMaxClockInfo(handle, type, mhz);
  return nvml::index_of(handle) < 0 ? nvml::kInvalidArgument : nvml::kNotSupported;
}

VF_ABI int nvmlDeviceGetMemoryBusWidth(Handle handle, unsigned* bits) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, bits, static_cast<unsigned>(std::max(handle->memory_bus_bits, 0)));
}

VF_ABI int nvmlDeviceGetArchitecture(Handle handle, unsigned* value) {
  return nvml::index_of(handle) < 0 ? nvml::kInvalidArgument : nvml::tell(handle, value, nvml::architecture(*handle));
}

// Boards without resizable BAR. An instance has a window of its own.
VF_ABI int nvmlDeviceGetBAR1MemoryInfo(Handle handle, nvml::Memory* memory) {
  if (const auto slice = nvml::slice_of(handle)) handle = nvml::handle_of_card(slice->card);
  return nvml::tell(handle, memory, nvml::Memory{.total = 256u << 20, .free = 256u << 20, .used = 0});
}

VF_ABI int nvmlDeviceGetTopologyCommonAncestor(Handle handle, Handle peer, int* level) {
  if (nvml::index_of(peer) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, level, handle == peer ? 0 : nvml::kSameHostBridge);
}

VF_ABI int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned bytes) {
  if (name == nullptr) return nvml::kInvalidArgument;
  // The real NVML also gives the first word of the command line, "/usr/bin/python3", cut to the caller's room.
  char line[1024] = {};
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/cmdline").c_str(), "re");
  if (file == nullptr) return nvml::kNotFound;
  const size_t got = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  if (got == 0 || bytes == 0) return nvml::kNotFound;
  const std::string_view text = line;  // words end in a zero
  return nvml::copy_text(text.substr(0, bytes - 1), name, bytes);
}

// An idle card's fans stand still.
VF_ABI int nvmlDeviceGetFanSpeed(Handle handle, unsigned* percent) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  if (!nvml::has_fans(*handle)) return nvml::tell_if_scripted(handle, percent, "fan");
  return nvml::tell_scripted(handle, percent, "fan", 0u);
}
VF_ABI int nvmlDeviceGetTargetFanSpeed(Handle handle, unsigned, unsigned* percent) {
  return nvmlDeviceGetFanSpeed(handle, percent);
}
VF_ABI int nvmlDeviceGetMinMaxFanSpeed(Handle handle, unsigned* least, unsigned* most) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  if (!nvml::has_fans(*handle)) return nvml::kNotSupported;
  if (const int answer = nvml::tell(handle, least, 30u); answer != nvml::kSuccess) return answer;
  return nvml::tell(handle, most, 100u);
}
VF_ABI int nvmlDeviceGetFanSpeed_v2(Handle handle, unsigned, unsigned* percent) {
  return nvmlDeviceGetFanSpeed(handle, percent);
}
VF_ABI int nvmlDeviceGetNumFans(Handle handle, unsigned* fans) {
  const bool blows = nvml::index_of(handle) >= 0 && nvml::has_fans(*handle);
  return nvml::tell(handle, fans, blows || nvml::scripted_reading(handle, "fan") ? 1u : 0u);
}
// The link is as fast as the card: nobody knows the slot of a card that is not there.
VF_ABI int nvmlDeviceGetMaxPcieLinkGeneration(Handle handle, unsigned* generation) {
  return nvml::tell_slot(handle, generation, nvml::index_of(handle) < 0 ? 0 : nvml::pcie_generation(*handle));
}
VF_ABI int nvmlDeviceGetGpuMaxPcieLinkGeneration(Handle handle, unsigned* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(handle, generation);
}
VF_ABI int nvmlDeviceGetMaxPcieLinkWidth(Handle handle, unsigned* lanes) {
  return nvml::tell_slot(handle, lanes, nvml::kLanes);
}
// The speed in MB a second of one lane: nvmlDeviceGetPcieLinkMaxSpeed of nvml.h.
VF_ABI int nvmlDeviceGetPcieLinkMaxSpeed(Handle handle, unsigned* speed) {
  constexpr unsigned kOfThird = 8000, kOfFourth = 16000, kOfFifth = 32000;
  const unsigned generation = nvml::index_of(handle) < 0 ? 3 : nvml::pcie_generation(*handle);
  return nvml::tell_slot(handle, speed, generation == 3 ? kOfThird : generation == 4 ? kOfFourth : kOfFifth);
}
VF_ABI int nvmlDeviceGetCurrPcieLinkGeneration(Handle handle, unsigned* generation) {
  const auto reading = nvml::scripted_reading(handle, "pcie_generation");
  return reading ? nvml::tell(handle, generation, static_cast<unsigned>(*reading))
                 : nvmlDeviceGetMaxPcieLinkGeneration(handle, generation);
}
VF_ABI int nvmlDeviceGetCurrPcieLinkWidth(Handle handle, unsigned* lanes) {
  const auto reading = nvml::scripted_reading(handle, "pcie_width");
  return reading ? nvml::tell(handle, lanes, static_cast<unsigned>(*reading))
                 : nvmlDeviceGetMaxPcieLinkWidth(handle, lanes);
}

// Nothing is encoded: no sessions, no frames, no wait.
VF_ABI int nvmlDeviceGetEncoderStats(Handle handle, unsigned* sessions, unsigned* frames, unsigned* microseconds) {
  for (unsigned* out : {sessions, frames, microseconds}) {
    if (const int answer = nvml::tell(handle, out, 0u); answer != nvml::kSuccess) return answer;
  }
  return nvml::kSuccess;
}

// The throughput in KiB a second; direction 0 is what the card sends.
VF_ABI int nvmlDeviceGetPcieThroughput(Handle handle, int direction, unsigned* kib) {
  return nvml::tell_scripted(handle, kib, direction == 0 ? "pcie_sent" : "pcie_received", 0u);
}

VF_ABI int nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle, unsigned long long* reasons) {
  return nvml::tell_scripted(handle, reasons, "throttle", 1ull);  // nvmlClocksThrottleReasonGpuIdle
}
VF_ABI int nvmlDeviceGetCurrentClocksEventReasons(Handle handle, unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(handle, reasons);
}

VF_ABI int nvmlDeviceGetNvLinkState(Handle handle, unsigned link, int* active) {
  const auto links = nvml::scripted_reading(handle, "nvlinks");
  if (!links) return nvml::kNotSupported;
  if (link >= *links) return nvml::kInvalidArgument;
  const bool up = link < nvml::scripted_reading(handle, "nvlinks_up").value_or(*links);
  return nvml::tell(handle, active, up ? 1 : 0);
}

// What every board without NVLink or fabric answers; asked so often that a note each time would be noise.
VF_ABI int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetNvLinkRemoteDeviceType(Handle, unsigned, int*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, void*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetGpuFabricInfo(Handle, void*) { return nvml::kNotSupported; }
VF_ABI int nvmlDeviceGetGpuFabricInfoV(Handle, void*) { return nvml::kNotSupported; }

// Thirteen digits, as boards have them; the last ones tell the cards of a machine apart.
VF_ABI int nvmlDeviceGetSerial(Handle handle, char* serial, unsigned bytes) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int index = nvml::index_of(handle);
  if (index < 0 || serial == nullptr) return nvml::kInvalidArgument;
  if (!nvml::is_of_data_centre(*handle)) return nvml::kNotSupported;
  const std::string text = std::to_string(1320000000000ll + index);
  return nvml::copy_text(text, serial, bytes);
}

VF_ABI int nvmlDeviceGetBrand(Handle handle, int* type) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  return nvml::tell(handle, type, nvml::brand(nvml::card_name(*handle)));
}
VF_ABI int nvmlDeviceGetNumGpuCores(Handle handle, unsigned* cores) {
  if (nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  const auto multiprocessors = static_cast<unsigned>(std::max(nvml::card_multiprocessors(*handle), 0));
  return nvml::tell(handle, cores, multiprocessors * nvml::cores_per_multiprocessor(*handle));
}

// Metrics that are sampled within a kernel: there are none of what does not compute.
VF_ABI int nvmlGpmQueryDeviceSupport(Handle handle, nvml::GpmSupport* support) {
  if (support == nullptr) return nvml::kInvalidArgument;
  return nvml::tell(handle, &support->is_supported, 0u);
}
