// Initialisation, versions and error texts.
#include <atomic>
#include <cstring>
#include <string>

#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {
namespace {

std::atomic<int> initialisations{0};
std::atomic<bool> driver_was_gone{false};

}  // namespace

const vf_ledger* ledger_if_initialised() {
  if (script()->driver != kSuccess) return nullptr;
  return initialisations.load() > 0 && !driver_was_gone.load() ? ledger::observe() : nullptr;
}

// A driver that went away takes every initialisation with it.
int why_no_ledger() {
  if (const int answer = script()->driver; answer != kSuccess) {
    driver_was_gone.store(true);
    return answer;
  }
  return initialisations.load() > 0 && !driver_was_gone.load() ? kDriverNotLoaded : kUninitialized;
}

int copy_text(std::string_view text, char* out, unsigned bytes) {
  if (out == nullptr) return kInvalidArgument;
  if (bytes < text.size() + 1) {
    if (bytes > 0) out[0] = '\0';
    return kInsufficientSize;
  }
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return kSuccess;
}

}  // namespace vramfit::nvml

namespace nvml = vramfit::nvml;

VF_ABI int nvmlInit_v2() {
  if (const int answer = nvml::script()->driver; answer != nvml::kSuccess) return answer;
  if (nvml::driver_was_gone.exchange(false)) nvml::initialisations.store(0);
  if (vramfit::ledger::observe() == nullptr) return nvml::kDriverNotLoaded;
  nvml::initialisations.fetch_add(1);
  return nvml::kSuccess;
}

VF_ABI int nvmlInit() { return nvmlInit_v2(); }
VF_ABI int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

VF_ABI int nvmlShutdown() {
  if (nvml::initialisations.load() == 0) return nvml::kUninitialized;
  nvml::initialisations.fetch_sub(1);
  return nvml::kSuccess;
}

VF_ABI const char* nvmlErrorString(int result) {
  switch (result) {
    case nvml::kSuccess:
      return "Success";
    case nvml::kUninitialized:
      return "Uninitialized";
    case nvml::kInvalidArgument:
      return "Invalid Argument";
    case nvml::kNotSupported:
      return "Not Supported";
    case nvml::kNoPermission:
      return "Insufficient Permissions";
    case nvml::kNotFound:
      return "Not Found";
    case nvml::kInsufficientSize:
      return "Insufficient Size";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kFunctionNotFound:
      return "Function Not Found";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    case nvml::kResetRequired:
      return "GPU requires reset";
    case nvml::kVersionMismatch:
      return "Driver/library version mismatch";
    case nvml::kArgumentVersionMismatch:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}

VF_ABI int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  const vf_ledger* book = nvml::ledger_if_initialised();
  return book == nullptr ? nvml::why_no_ledger() : nvml::copy_text(book->driver_name, text, bytes);
}

VF_ABI int nvmlSystemGetNVMLVersion(char* text, unsigned bytes) {
  const vf_ledger* book = nvml::ledger_if_initialised();
  if (book == nullptr) return nvml::why_no_ledger();
  return nvml::copy_text(std::to_string(book->driver_version / 1000) + "." + book->driver_name, text, bytes);
}

VF_ABI int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return nvml::kInvalidArgument;
  const vf_ledger* book = nvml::ledger_if_initialised();
  *version = book == nullptr ? 0 : static_cast<int>(book->driver_version);
  return book == nullptr ? nvml::why_no_ledger() : nvml::kSuccess;
}

VF_ABI int nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }
