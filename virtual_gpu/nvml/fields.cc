// nvmlDeviceGetFieldValues: many readings in one call, by number. Each is answered by itself; one that no virtual card
// has is not supported, as on a board without it. Those that exist are what the calls for them tell.
#include <ctime>

#include "virtual_gpu/nvml/answer.h"
#include "virtual_gpu/nvml/board.h"

extern "C" {
int nvmlDeviceGetEccMode(vramfit::nvml::Handle, int*, int*);
int nvmlDeviceGetTotalEccErrors(vramfit::nvml::Handle, int, int, unsigned long long*);
int nvmlDeviceGetRetiredPages(vramfit::nvml::Handle, int, unsigned*, unsigned long long*);
int nvmlDeviceGetRetiredPagesPendingStatus(vramfit::nvml::Handle, int*);
int nvmlDeviceGetRemappedRows(vramfit::nvml::Handle, unsigned*, unsigned*, unsigned*, unsigned*);
int nvmlDeviceGetPcieReplayCounter(vramfit::nvml::Handle, unsigned*);
int nvmlDeviceGetTotalEnergyConsumption(vramfit::nvml::Handle, unsigned long long*);
int nvmlDeviceGetTemperature(vramfit::nvml::Handle, int, unsigned*);
int nvmlDeviceGetPowerUsage(vramfit::nvml::Handle, unsigned*);
int nvmlDeviceGetPowerManagementDefaultLimit(vramfit::nvml::Handle, unsigned*);
int nvmlDeviceGetEnforcedPowerLimit(vramfit::nvml::Handle, unsigned*);
}

namespace vramfit::nvml {
namespace {

constexpr int kCorrectedErrors = 0, kUncorrectedErrors = 1, kSinceReset = 0;
constexpr int kByCorrected = 0, kByUncorrected = 1;  // nvmlPageRetirementCause_t
constexpr int kChip = 0;                             // nvmlTemperatureSensors_t

// Stacks of memory beside the chip have a sensor of their own: GP100, GV100, GA100, GH100, GB100.
bool has_stacked_memory(const vf_card& card) { return card.compute_minor == 0 || card.compute_major == 10; }

// A reading of either width.
class FieldAnswer {
 public:
  explicit FieldAnswer(FieldValue& value) : value_(value) {}
  template <typename Number, typename Call, typename... Middle>
  void ask(Handle handle, Call call, Middle... middle) {
    Number number{};
    const int answer = call(handle, middle..., &number);
    set(answer, number);
  }
  template <typename Number>
  void set(int answer, Number number) {
    value_.answer = answer;
    value_.type = sizeof(Number) > sizeof(unsigned) ? kFieldUnsignedLongLong : kFieldUnsigned;
    value_.value = answer == kSuccess ? static_cast<uint64_t>(number) : 0;
  }

 private:
  FieldValue& value_;
};

void answer_ecc(Handle handle, uint32_t field, FieldAnswer& told) {
  int current = 0, pending = 0;
  switch (field) {
    case kFieldEccMode:
    case kFieldEccModePending:
      if (const int answer = nvmlDeviceGetEccMode(handle, &current, &pending); answer != kSuccess) return;
      return told.set(kSuccess, static_cast<unsigned>(current));
    case kFieldCorrectedErrors:
    case kFieldCorrectedErrorsEver:
      return told.ask<unsigned long long>(handle, nvmlDeviceGetTotalEccErrors, kCorrectedErrors, kSinceReset);
    default:
      return told.ask<unsigned long long>(handle, nvmlDeviceGetTotalEccErrors, kUncorrectedErrors, kSinceReset);
  }
}

void answer_pages(Handle handle, uint32_t field, FieldAnswer& told) {
  if (field == kFieldPagesRetiredPending) return told.ask<int>(handle, nvmlDeviceGetRetiredPagesPendingStatus);
  unsigned count = 0;
  const int cause = field == kFieldPagesRetiredCorrected ? kByCorrected : kByUncorrected;
  const int answer = nvmlDeviceGetRetiredPages(handle, cause, &count, nullptr);
  told.set(answer, count);
}

void answer_rows(Handle handle, uint32_t field, FieldAnswer& told) {
  unsigned told_of[4] = {};
  const int answer = nvmlDeviceGetRemappedRows(handle, &told_of[0], &told_of[1], &told_of[2], &told_of[3]);
  told.set(answer, told_of[field - kFieldRowsRemappedCorrected]);
}

void answer_field(Handle handle, uint32_t field, FieldAnswer& told) {
  if (field >= kFieldEccMode && field <= kFieldUncorrectedErrorsEver) return answer_ecc(handle, field, told);
  if (field >= kFieldPagesRetiredCorrected && field <= kFieldPagesRetiredPending) {
    return answer_pages(handle, field, told);
  }
  if (field >= kFieldRowsRemappedCorrected && field <= kFieldRowsRemappedFailure) {
    return answer_rows(handle, field, told);
  }
  if (field >= kFieldHeldBackByPower && field <= kFieldHeldBackByBaseClocks) return told.set(kSuccess, 0ull);
  switch (field) {
    case kFieldMemoryTemperature:
      if (!is_of_data_centre(*handle) || !has_stacked_memory(*handle)) return;
      return told.ask<unsigned>(handle, nvmlDeviceGetTemperature, kChip);
    case kFieldEnergy:
      return told.ask<unsigned long long>(handle, nvmlDeviceGetTotalEnergyConsumption);
    case kFieldLinkCount:
      if (const auto links = scripted_reading(handle, "nvlinks")) told.set(kSuccess, static_cast<unsigned>(*links));
      return;
    case kFieldPcieReplays:
    case kFieldPcieReplayRollovers:
      return told.ask<unsigned>(handle, nvmlDeviceGetPcieReplayCounter);
    case kFieldPowerAverage:
    case kFieldPowerInstant:
      return told.ask<unsigned>(handle, nvmlDeviceGetPowerUsage);
    case kFieldPowerDefaultLimit:
      return told.ask<unsigned>(handle, nvmlDeviceGetPowerManagementDefaultLimit);
    case kFieldPowerCurrentLimit:
    case kFieldPowerRequestedLimit:
      return told.ask<unsigned>(handle, nvmlDeviceGetEnforcedPowerLimit);
    default:
      return;
  }
}

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetFieldValues(Handle handle, int count, nvml::FieldValue* values) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (values == nullptr || count < 1) return nvml::kInvalidArgument;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (int i = 0; i < count; ++i) {
    values[i].at_us = static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
    values[i].took_us = 0;
    nvml::FieldAnswer told(values[i]);
    told.set(nvml::kNotSupported, 0u);
    nvml::answer_field(handle, values[i].field, told);
  }
  return nvml::kSuccess;
}
