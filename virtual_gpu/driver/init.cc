// The driver itself: versions, errors, functions by name.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>

#include "virtual_gpu/device/error_text.h"
#include "virtual_gpu/driver/driver.h"

namespace vramfit::driver {
namespace {

// One form of a function: asked for `name` at `version` or later, `symbol` is meant. In order of name and version.
struct Entry {
  const char* name;
  int version;
  const char* symbol;
};
constexpr Entry kEntries[] = {
#include "driver_entries.inc"
};

// This library, whatever name or path it was loaded by.
void* own_handle() {
  static void* const kHandle = [] {
    Dl_info info = {};
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return kHandle;
}

// Who wants to read the driver's log of errors. Nothing is ever written to it here: what fails answers its error.
class LogReaders {
 public:
  CUlogsCallbackHandle add() {
    const std::lock_guard guard(lock_);
    numbers_.insert(++last_);
    return reinterpret_cast<CUlogsCallbackHandle>(last_);
  }
  bool remove(CUlogsCallbackHandle reader) {
    const std::lock_guard guard(lock_);
    return numbers_.erase(reinterpret_cast<std::uintptr_t>(reader)) > 0;
  }

 private:
  std::mutex lock_;
  std::set<std::uintptr_t> numbers_;
  std::uintptr_t last_ = 0;
};

LogReaders& log_readers() {
  static LogReaders readers;
  return readers;
}

CUdriverProcAddressQueryResult find_entry(const char* name, int version, void** function) {
  bool is_known = false;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, name) != 0) continue;
    is_known = true;
    if (entry.version > version) break;
    if (void* found = dlsym(own_handle(), entry.symbol)) *function = found;
  }
  // A function of a driver newer than the table: exported, and refused when it is called.
  if (!is_known) *function = dlsym(own_handle(), name);
  if (*function != nullptr) return CU_GET_PROC_ADDRESS_SUCCESS;
  return is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

}  // namespace

CUresult answer(device::Error error) {
  return error == device::Error::kInvalidConfiguration ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
}

CUresult check_usable() {
  switch (ledger::state()) {
    case ledger::State::kReady:
      return CUDA_SUCCESS;
    case ledger::State::kForked:
      return CUDA_ERROR_NOT_INITIALIZED;
    case ledger::State::kEnded:
      return CUDA_ERROR_DEINITIALIZED;
    case ledger::State::kNoLedger:
    case ledger::State::kNoCard:
      break;
  }
  return CUDA_ERROR_NO_DEVICE;
}

CUresult check_card(int card) {
  const CUresult usable = check_usable();
  if (usable != CUDA_SUCCESS) return usable;
  return ledger::card(card) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace vramfit::driver

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return vramfit::driver::check_usable();
}

CUresult cuDriverGetVersion(int* version) {
  VF_NEED(version);
  *version = vramfit::ledger::driver_version();
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  VF_NEED(text);
  const auto* found = vramfit::device::find_error_text(error);
  *text = found == nullptr || found->driver_name == nullptr ? nullptr : found->text;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  VF_NEED(name);
  const auto* found = vramfit::device::find_error_text(error);
  *name = found == nullptr ? nullptr : found->driver_name;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  VF_NEED(name);
  VF_NEED(function);
  *function = nullptr;
  const CUdriverProcAddressQueryResult found = vramfit::driver::find_entry(name, version, function);
  if (status != nullptr) *status = found;
  return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  VF_NEED(table);
  *table = nullptr;
  vramfit::ledger::note_not_modelled("cuGetExportTable (a static CUDA runtime inside an extension)");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

CUresult cuLogsRegisterCallback(CUlogsCallback function, void*, CUlogsCallbackHandle* reader) {
  VF_NEED(function);
  VF_NEED(reader);
  *reader = vramfit::driver::log_readers().add();
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle reader) {
  return vramfit::driver::log_readers().remove(reader) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
