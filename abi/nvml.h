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
struct FieldValue {  // of nvmlDeviceGetFieldValues: the caller fills field and scope
  std::uint32_t field, scope;
  std::int64_t at_us, took_us;
  std::uint32_t type;
  std::int32_t answer;
  std::uint64_t value;  // a union of every type
};
enum FieldType : std::uint32_t { kFieldUnsigned = 1, kFieldUnsignedLongLong = 3 };
enum Field : std::uint32_t {  // the NVML_FI_DEV_* that a board may answer
  kFieldEccMode = 1,
  kFieldEccModePending = 2,
  kFieldCorrectedErrors = 3,
  kFieldUncorrectedErrors = 4,
  kFieldCorrectedErrorsEver = 5,
  kFieldUncorrectedErrorsEver = 6,
  kFieldPagesRetiredCorrected = 29,
  kFieldPagesRetiredUncorrected = 30,
  kFieldPagesRetiredPending = 31,
  kFieldHeldBackByPower = 74,  // and six that follow: nanoseconds
  kFieldHeldBackByBaseClocks = 81,
  kFieldMemoryTemperature = 82,
  kFieldEnergy = 83,
  kFieldLinkCount = 91,
  kFieldPcieReplays = 94,
  kFieldPcieReplayRollovers = 95,
  kFieldRowsRemappedCorrected = 142,
  kFieldRowsRemappedUncorrected = 143,
  kFieldRowsRemappedPending = 144,
  kFieldRowsRemappedFailure = 145,
  kFieldPowerAverage = 185,
  kFieldPowerInstant = 186,
  kFieldPowerDefaultLimit = 189,
  kFieldPowerCurrentLimit = 190,
  kFieldPowerRequestedLimit = 192,
};
struct DeviceAttributes {  // of a MIG instance
  std::uint32_t multiprocessors, copy_engines, decoders, encoders, jpeg, optical_flow;
  std::uint32_t gpu_instance_slices, compute_instance_slices;
  std::uint64_t memory_mib;
};
struct ViolationTime {
  std::uint64_t reference, violation;
};
struct TemperatureV1 {
  std::uint32_t version, sensor;
  std::int32_t celsius;
};
inline constexpr std::uint32_t kTemperatureV1Version = sizeof(TemperatureV1) | (1u << 24);
static_assert(sizeof(FieldValue) == 40 && sizeof(DeviceAttributes) == 40 && sizeof(TemperatureV1) == 12);
static_assert(sizeof(MemoryV2) == 40 && sizeof(ProcessV1) == 16 && sizeof(ProcessV2) == 24);
static_assert(sizeof(ProcessUtilization) == 32 && sizeof(PciInfo) == 68);

inline constexpr std::uint64_t kNoBytes = ~std::uint64_t{0};  // NVML_VALUE_NOT_AVAILABLE
inline constexpr std::uint32_t kNoInstance = ~std::uint32_t{0};

}  // namespace vramfit::abi::nvml

#endif
