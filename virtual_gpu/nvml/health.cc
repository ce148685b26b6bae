// What a board tells of its own memory and firmware: a new one, without an error. Versions of firmware that differ from
// board to board are nobody's to know.
#include <string>

#include "virtual_gpu/nvml/answer.h"
#include "virtual_gpu/nvml/board.h"

namespace vramfit::nvml {
namespace {

int tell_errors(Handle handle, int type, unsigned long long* errors) {
  if (const int answer = why_not(handle); answer != kSuccess) return answer;
  const std::string_view name = type == 0 ? "ecc_corrected" : "ecc_uncorrected";
  return is_of_data_centre(*handle) ? tell_scripted(handle, errors, name, 0ull)
                                    : tell_if_scripted(handle, errors, name);
}

// The versions that `nvidia-smi -q` of real boards prints: Tesla V100 and GeForce RTX 20 1.1 and 5.0, GeForce RTX 3090
// Ti 2.0 and 6.16; notebooks none.
std::string_view inforom_version(const vf_card& card, int object) {
  constexpr int kOem = 0, kEcc = 1;
  if (is_laptop(card) || card.is_integrated != 0) return {};
  if (object == kOem) return capability(card) < 80 ? "1.1" : "2.0";
  if (object != kEcc || !is_of_data_centre(card)) return {};
  return capability(card) >= 70 && capability(card) < 80   ? "5.0"
         : capability(card) >= 80 && capability(card) < 90 ? "6.16"
                                                           : "";
}

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetEccMode(Handle handle, int* current, int* pending) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (current == nullptr || pending == nullptr) return nvml::kInvalidArgument;
  if (!nvml::is_of_data_centre(*handle)) return nvml::kNotSupported;
  *current = *pending = 1;
  return nvml::kSuccess;
}
VF_ABI int nvmlDeviceGetDefaultEccMode(Handle handle, int* mode) {
  int pending = 0;
  return nvmlDeviceGetEccMode(handle, mode, &pending);
}
VF_ABI int nvmlDeviceGetTotalEccErrors(Handle handle, int type, int, unsigned long long* errors) {
  return nvml::tell_errors(handle, type, errors);
}
VF_ABI int nvmlDeviceGetMemoryErrorCounter(Handle handle, int, int, int, unsigned long long* errors) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  return nvml::is_of_data_centre(*handle) ? nvml::tell(handle, errors, 0ull) : int{nvml::kNotSupported};
}

VF_ABI int nvmlDeviceGetRemappedRows(Handle handle, unsigned* corrected, unsigned* uncorrected, unsigned* is_pending,
                                     unsigned* has_failed) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (!nvml::remaps_rows(*handle)) return nvml::kNotSupported;
  for (unsigned* out : {corrected, uncorrected, is_pending, has_failed}) {
    if (const int answer = nvml::tell(handle, out, 0u); answer != nvml::kSuccess) return answer;
  }
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetRetiredPages(Handle handle, int, unsigned* count, unsigned long long*) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  return nvml::retires_pages(*handle) ? nvml::tell(handle, count, 0u) : int{nvml::kNotSupported};
}
VF_ABI int nvmlDeviceGetRetiredPages_v2(Handle handle, int cause, unsigned* count, unsigned long long* addresses,
                                        unsigned long long*) {
  return nvmlDeviceGetRetiredPages(handle, cause, count, addresses);
}
VF_ABI int nvmlDeviceGetRetiredPagesPendingStatus(Handle handle, int* is_pending) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  return nvml::retires_pages(*handle) ? nvml::tell(handle, is_pending, 0) : int{nvml::kNotSupported};
}

VF_ABI int nvmlDeviceGetPcieReplayCounter(Handle handle, unsigned* count) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  return handle->is_integrated != 0 ? int{nvml::kNotSupported} : nvml::tell(handle, count, 0u);
}

VF_ABI int nvmlDeviceGetInforomVersion(Handle handle, int object, char* version, unsigned bytes) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  const std::string_view text = nvml::inforom_version(*handle, object);
  return text.empty() ? int{nvml::kNotSupported} : nvml::copy_text(text, version, bytes);
}
