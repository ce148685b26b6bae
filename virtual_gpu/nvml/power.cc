// Power. What the board may take is in the catalogue, with its source; of laptops, and where nobody knows it, a card
// has no limit to tell, as many real ones have none.
#include <ctime>

#include "virtual_gpu/nvml/answer.h"
#include "virtual_gpu/nvml/board.h"

namespace vramfit::nvml {
namespace {

// About what boards take that do nothing; nobody measured the ones that are not there.
constexpr unsigned kIdleShareOfLimit = 10;
constexpr unsigned kIdleMilliwatts = 10000;

unsigned idle_milliwatts(const vf_card& card) {
  return card.power_limit_milliwatts > 0 ? static_cast<unsigned>(card.power_limit_milliwatts) / kIdleShareOfLimit
                                         : kIdleMilliwatts;
}

// What an idle card took since the machine was started.
unsigned long long idle_millijoules(const vf_card& card) {
  timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return idle_milliwatts(card) * static_cast<unsigned long long>(since_boot.tv_sec);
}

int tell_limit(Handle handle, unsigned* milliwatts) {
  if (const int answer = why_not(handle); answer != kSuccess) return answer;
  if (handle->power_limit_milliwatts <= 0) return kNotSupported;
  return tell(handle, milliwatts, static_cast<unsigned>(handle->power_limit_milliwatts));
}

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetPowerUsage(Handle handle, unsigned* milliwatts) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (handle->is_integrated != 0) return nvml::tell_if_scripted(handle, milliwatts, "power");
  return nvml::tell_scripted(handle, milliwatts, "power", nvml::idle_milliwatts(*handle));
}

VF_ABI int nvmlDeviceGetPowerManagementLimit(Handle handle, unsigned* milliwatts) {
  return nvml::tell_limit(handle, milliwatts);
}
VF_ABI int nvmlDeviceGetPowerManagementDefaultLimit(Handle handle, unsigned* milliwatts) {
  return nvml::tell_limit(handle, milliwatts);
}
VF_ABI int nvmlDeviceGetEnforcedPowerLimit(Handle handle, unsigned* milliwatts) {
  const auto scripted = nvml::scripted_reading(handle, "power_limit");
  return scripted ? nvml::tell(handle, milliwatts, static_cast<unsigned>(*scripted))
                  : nvml::tell_limit(handle, milliwatts);
}
VF_ABI int nvmlDeviceGetPowerManagementMode(Handle handle, int* mode) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  return nvml::tell(handle, mode, handle->power_limit_milliwatts > 0 ? 1 : 0);
}
// How far a limit may be set is written in each board's firmware.
VF_ABI int nvmlDeviceGetPowerManagementLimitConstraints(Handle handle, unsigned*, unsigned*) {
  const int answer = nvml::why_not(handle);
  return answer == nvml::kSuccess ? int{nvml::kNotSupported} : answer;
}

// Boards count it since Volta.
VF_ABI int nvmlDeviceGetTotalEnergyConsumption(Handle handle, unsigned long long* millijoules) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (handle->compute_major < 7 || handle->is_integrated != 0) {
    return nvml::tell_if_scripted(handle, millijoules, "energy");
  }
  return nvml::tell_scripted(handle, millijoules, "energy", nvml::idle_millijoules(*handle));
}

// Nothing was ever held back on a card that does nothing.
VF_ABI int nvmlDeviceGetViolationStatus(Handle handle, int, nvml::ViolationTime* told) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto microseconds = static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
  return nvml::tell(handle, told, nvml::ViolationTime{microseconds, 0});
}
