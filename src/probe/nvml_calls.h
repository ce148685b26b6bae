// NVML's functions, layouts and numbers as documented in nvml.h (CUDA 13.0), by our own declarations: the library is
// opened at run time. A function that the driver's NVML lacks stays null, and the caller falls back to an older one.
#ifndef VRAMFIT_PROBE_NVML_CALLS_H
#define VRAMFIT_PROBE_NVML_CALLS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace vramfit::probe::nvml {

enum Answer : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kVersionMismatch = 18,  // the driver was updated under the running library
  kArgumentVersionMismatch = 25,
  kGpuNotFound = 28,
  kUnknown = 999
};

using Device = struct OpaqueDevice*;

struct Memory {
  std::uint64_t total, free, used;
};
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
inline constexpr std::uint32_t kMemoryV2Version = sizeof(MemoryV2) | (2u << 24);
struct Utilization {
  std::uint32_t gpu, memory;
};
struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t used_bytes;
};
struct ProcessV2 {  // of the _v2 and the _v3 calls
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;
};
struct ProcessUtilization {
  std::uint32_t pid;
  std::uint64_t at_us;
  std::uint32_t sm, memory, encoder, decoder;
};
struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(MemoryV2) == 40 && sizeof(ProcessV1) == 16 && sizeof(ProcessV2) == 24);
static_assert(sizeof(ProcessUtilization) == 32 && sizeof(PciInfo) == 68);

inline constexpr std::uint64_t kNoBytes = ~std::uint64_t{0};  // NVML_VALUE_NOT_AVAILABLE
inline constexpr std::uint32_t kNoInstance = ~std::uint32_t{0};
inline constexpr int kClockSm = 1, kClockMemory = 2;
inline constexpr int kTemperatureGpu = 0;
inline constexpr int kCorrected = 0, kUncorrected = 1, kVolatile = 0;
inline constexpr int kPcieSent = 0, kPcieReceived = 1;  // NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES; KiB/s over 20 ms
inline constexpr unsigned kMostNvlinks = 18;

// One member per function; null when the library has none.
struct Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  int (*memory_v2)(Device, MemoryV2*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*bar1)(Device, Memory*) = nullptr;  // nvmlBAR1Memory_t: total, free, used
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*fan)(Device, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*max_clock)(Device, int, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*ecc_total)(Device, int, int, unsigned long long*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*pcie_throughput)(Device, int, unsigned*) = nullptr;
  int (*nvlink_state)(Device, unsigned, int*) = nullptr;
  int (*persistence)(Device, int*) = nullptr;
  int (*performance_state)(Device, int*) = nullptr;
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*most_mig_devices)(Device, unsigned*) = nullptr;
  int (*mig_device)(Device, unsigned, Device*) = nullptr;
  int (*gpu_instance)(Device, unsigned*) = nullptr;
  int (*compute_instance)(Device, unsigned*) = nullptr;
  // compute, graphics and MPS processes, newest version first
  struct ProcessCalls {
    int (*v3)(Device, unsigned*, ProcessV2*) = nullptr;
    int (*v2)(Device, unsigned*, ProcessV2*) = nullptr;
    int (*v1)(Device, unsigned*, ProcessV1*) = nullptr;
  };
  ProcessCalls compute, graphics, mps;
  int (*process_utilization)(Device, ProcessUtilization*, unsigned*, unsigned long long) = nullptr;
};

// The library behind a set of calls; it stays loaded for as long as this lives.
struct Library {
  std::shared_ptr<void> handle;
  std::string path;
  Calls calls;
};

// Tries each name in turn, as dlopen does. The error says what was missing and what to do.
base::Result<Library> open_library(const std::vector<std::string>& names);

// Where drivers put it: the loader's own path first, then WSL, containers and the usual folders.
std::vector<std::string> usual_names();

// As NVML's own text, or a text of ours.
std::string describe(const Calls& calls, int answer);

}  // namespace vramfit::probe::nvml

#endif
