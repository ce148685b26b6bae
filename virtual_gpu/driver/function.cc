// Functions of loaded code, also called kernels: their names and attributes.
#include <mutex>
#include <vector>

#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/driver/code.h"

using vramfit::driver::Function;
using vramfit::driver::is_function;
using vramfit::driver::loaded;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

// No kernel was compiled here: registers are a middle value, local memory none.
int function_attribute(const device::Build& build, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return static_cast<int>(build.ptx);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return static_cast<int>(build.binary);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 48 * 1024;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      return 0;  // no static shared, constant or local memory; no required cluster
  }
}

// The lock of what is loaded is held.
bool is_loaded(const void* handle) {
  return loaded().functions.contains(static_cast<Function*>(const_cast<void*>(handle)));
}

CUresult get_function_attribute(int* value, CUfunction_attribute attribute, const Function* function) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_CARD();
  if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const vf_card* card = ledger::card(ledger::current_card());
  const std::lock_guard guard(loaded().lock);
  if (!is_loaded(function) && !device::is_kernel(function)) return CUDA_ERROR_INVALID_HANDLE;
  const device::Build build = is_loaded(function)
                                  ? device::build_for(function->code->images, card->compute_major, card->compute_minor)
                                  : device::build_of_kernel(function, ledger::current_card());
  *value = function_attribute(build, attribute);
  return CUDA_SUCCESS;
}

CUresult known_or_refused(const void* handle) { return is_function(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

CUresult set_function_attribute(CUfunction_attribute attribute, int value, const void* handle) {
  VF_NEED_CARD();
  if (!is_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  const device::Limits limits = device::limits_of(*ledger::card(ledger::current_card()));
  const bool is_shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  return is_shared && value > limits.shared_bytes_per_block_optin ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

namespace vramfit::driver {

bool is_function(const void* handle) {
  {
    const std::lock_guard guard(loaded().lock);
    if (is_loaded(handle)) return true;
  }
  return device::is_kernel(handle);
}

}  // namespace vramfit::driver

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  VF_NEED(function);
  *function = nullptr;
  if (!is_function(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  VF_NEED(name);
  VF_NEED(function);
  *name = nullptr;
  const std::lock_guard guard(loaded().lock);
  if (!is_loaded(function)) return CUDA_ERROR_INVALID_HANDLE;
  auto* known = reinterpret_cast<Function*>(function);
  *name = known->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return get_function_attribute(value, attribute, reinterpret_cast<const Function*>(function));
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return get_function_attribute(value, attribute, reinterpret_cast<const Function*>(kernel));
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return set_function_attribute(attribute, value, function);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return set_function_attribute(attribute, value, kernel);
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) { return known_or_refused(function); }
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice) { return known_or_refused(kernel); }

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  VF_NEED(module);
  *module = nullptr;
  const std::lock_guard guard(loaded().lock);
  if (!is_loaded(function)) return CUDA_ERROR_INVALID_HANDLE;
  auto* known = reinterpret_cast<Function*>(function);
  *module = reinterpret_cast<CUmodule>(known->code);
  return CUDA_SUCCESS;
}
