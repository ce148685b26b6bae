// Numbers and layouts of NVML, as documented in nvml.h of CUDA 13.0: what the virtual card's NVML answers with, and
// what the real one is asked with.
#ifndef VRAMFIT_ABI_NVML_H
#define VRAMFIT_ABI_NVML_H

#include <cstdint>

namespace vramfit::abi::nvml {

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

}  // namespace vramfit::abi::nvml

#endif
