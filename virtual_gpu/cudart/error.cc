// Errors, and what the runtime says about itself.
#include <string>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/error_text.h"

namespace vramfit::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t answer(device::Error error) { return answer(static_cast<cudaError_t>(error)); }
cudaError_t answer(CUresult error) { return answer(static_cast<cudaError_t>(error)); }

cudaError_t check_usable() {
  switch (ledger::state()) {
    case ledger::State::kReady:
      return cudaSuccess;
    case ledger::State::kForked:
      return answer(cudaErrorInitializationError);
    case ledger::State::kEnded:
      return answer(cudaErrorCudartUnloading);
    case ledger::State::kNoLedger:
    case ledger::State::kNoCard:
      break;
  }
  return answer(cudaErrorNoDevice);
}

device::Error touch_current() {
  return ledger::touch(ledger::current_card()) ? device::Error::kNone : device::Error::kOutOfMemory;
}

}  // namespace vramfit::cudart

cudaError_t cudaGetLastError() {
  const cudaError_t error = vramfit::cudart::last_error;
  vramfit::cudart::last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return vramfit::cudart::last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const auto* found = vramfit::device::find_error_text(error);
  return found == nullptr || found->runtime_name == nullptr ? "unrecognized error code" : found->runtime_name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* found = vramfit::device::find_error_text(error);
  if (found == nullptr || found->runtime_name == nullptr) return "unrecognized error code";
  if (error != cudaErrorNoDevice || vramfit::ledger::state() == vramfit::ledger::State::kReady) return found->text;
  // The user's next question is why; the real text stays in front for whoever searches for it.
  thread_local std::string text;
  text = std::string(found->text) + " (" + vramfit::ledger::why_unusable() + ")";
  return text.c_str();
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  VF_NEED(version);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  VF_NEED(version);
  *version = vramfit::ledger::driver_version();
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
