// NVML's functions as documented in nvml.h (CUDA 13.0), by our own declarations (layouts: abi/nvml.h): the library is
// opened at run time. A function that the driver's NVML lacks stays null, and the caller falls back to an older one.
#ifndef VRAMFIT_PROBE_NVML_CALLS_H
#define VRAMFIT_PROBE_NVML_CALLS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/nvml.h"
#include "base/error.h"

namespace vramfit::probe::nvml {

using namespace abi::nvml;

using Device = struct OpaqueDevice*;

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

// The places where drivers put it: the loader's own path first, then WSL, containers and the usual folders.
std::vector<std::string> usual_names();

// NVML's own text for an answer, or one of ours.
std::string describe(const Calls& calls, int answer);

}  // namespace vramfit::probe::nvml

#endif
