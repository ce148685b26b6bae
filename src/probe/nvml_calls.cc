#include "probe/nvml_calls.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace vramfit::probe::nvml {

namespace {

// The first of `names` that the library has: they must share one prototype.
template <class Function, class... Names>
void find(void* library, Function& function, Names... names) {
  for (const char* name : {names...}) {
    if (function == nullptr) function = reinterpret_cast<Function>(::dlsym(library, name));
  }
}

void find_processes(void* library, Calls::ProcessCalls& calls, const std::string& name) {
  find(library, calls.v3, (name + "_v3").c_str());
  find(library, calls.v2, (name + "_v2").c_str());
  find(library, calls.v1, name.c_str());
}

Calls find_calls(void* lib) {
  Calls calls;
  find(lib, calls.init, "nvmlInit_v2", "nvmlInit");
  find(lib, calls.shutdown, "nvmlShutdown");
  find(lib, calls.error_text, "nvmlErrorString");
  find(lib, calls.driver_version, "nvmlSystemGetDriverVersion");
  find(lib, calls.cuda_version, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
  find(lib, calls.count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  find(lib, calls.by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  find(lib, calls.uuid, "nvmlDeviceGetUUID");
  find(lib, calls.name, "nvmlDeviceGetName");
  find(lib, calls.pci, "nvmlDeviceGetPciInfo_v3");  // older ones fill a shorter structure
  find(lib, calls.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  find(lib, calls.memory, "nvmlDeviceGetMemoryInfo");
  find(lib, calls.bar1, "nvmlDeviceGetBAR1MemoryInfo");
  find(lib, calls.utilization, "nvmlDeviceGetUtilizationRates");
  find(lib, calls.temperature, "nvmlDeviceGetTemperature");
  find(lib, calls.fan, "nvmlDeviceGetFanSpeed");
  find(lib, calls.power, "nvmlDeviceGetPowerUsage");
  find(lib, calls.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(lib, calls.clock, "nvmlDeviceGetClockInfo");
  find(lib, calls.max_clock, "nvmlDeviceGetMaxClockInfo");
  find(lib, calls.throttle, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(lib, calls.ecc_total, "nvmlDeviceGetTotalEccErrors");
  find(lib, calls.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(lib, calls.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(lib, calls.pcie_throughput, "nvmlDeviceGetPcieThroughput");
  find(lib, calls.nvlink_state, "nvmlDeviceGetNvLinkState");
  find(lib, calls.persistence, "nvmlDeviceGetPersistenceMode");
  find(lib, calls.performance_state, "nvmlDeviceGetPerformanceState");
  find(lib, calls.mig_mode, "nvmlDeviceGetMigMode");
  find(lib, calls.most_mig_devices, "nvmlDeviceGetMaxMigDeviceCount");
  find(lib, calls.mig_device, "nvmlDeviceGetMigDeviceHandleByIndex");
  find(lib, calls.gpu_instance, "nvmlDeviceGetGpuInstanceId");
  find(lib, calls.compute_instance, "nvmlDeviceGetComputeInstanceId");
  find_processes(lib, calls.compute, "nvmlDeviceGetComputeRunningProcesses");
  find_processes(lib, calls.graphics, "nvmlDeviceGetGraphicsRunningProcesses");
  find_processes(lib, calls.mps, "nvmlDeviceGetMPSComputeRunningProcesses");
  find(lib, calls.process_utilization, "nvmlDeviceGetProcessUtilization");
  return calls;
}

bool is_usable(const Calls& calls) {
  return calls.init != nullptr && calls.shutdown != nullptr && calls.count != nullptr && calls.by_index != nullptr &&
         (calls.memory_v2 != nullptr || calls.memory != nullptr);
}

}  // namespace

base::Result<Library> open_library(const std::vector<std::string>& names) {
  std::string unusable;
  for (const std::string& name : names) {
    void* opened = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) continue;
    Library library{std::shared_ptr<void>(opened, [](void* handle) { ::dlclose(handle); }), name, find_calls(opened)};
    if (is_usable(library.calls)) return library;
    unusable = name;
  }
  if (!unusable.empty()) {
    return base::fail(base::ErrorCode::kUnsupported, "NVML lacks functions that every driver since 2013 has", unusable);
  }
  return base::fail(base::ErrorCode::kNotFound, "no NVIDIA driver: libnvidia-ml.so.1 was not found", "",
                    "install the driver; in a container: --gpus all, or NVIDIA_DRIVER_CAPABILITIES=utility");
}

std::vector<std::string> usual_names() {
  return {"libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1",
          "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
          "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
          "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
          "/usr/lib64/libnvidia-ml.so.1",
          "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
          "/run/opengl-driver/lib/libnvidia-ml.so.1"};
}

std::string describe(const Calls& calls, int answer) {
  switch (answer) {
    case kDriverNotLoaded:
      return "the driver is not loaded";
    case kNoPermission:
      return "no permission";
    case kGpuIsLost:
      return "fell off the bus";
    case kResetRequired:
      return "needs a reset";
    case kVersionMismatch:
      return "the driver was updated while in use; reload it or reboot";
    default:
      break;
  }
  const char* text = calls.error_text == nullptr ? nullptr : calls.error_text(answer);
  return text == nullptr ? fmt::format("NVML error {}", answer) : fmt::format("{} (NVML error {})", text, answer);
}

}  // namespace vramfit::probe::nvml
