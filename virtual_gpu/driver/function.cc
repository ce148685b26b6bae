// Functions of loaded code, also called kernels: their names and attributes.
#include <mutex>
#include <vector>

#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/driver/code.h"

using vramfit::driver::Function;
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

CUresult get_function_attribute(int* value, CUfunction_attribute attribute, const Function* function) {
  VF_NEED(value);
  *value = 0;
  VF_NEED_CARD();
  if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const vf_card* card = ledger::card(ledger::current_card());
  const std::lock_guard guard(loaded().lock);
  const bool is_known = loaded().functions.contains(const_cast<Function*>(function));
  const device::Build build = device::build_for(is_known ? function->code->images : std::vector<device::Image>{},
                                                card->compute_major, card->compute_minor);
  *value = function_attribute(build, attribute);
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(CUfunction_attribute attribute, int value) {
  VF_NEED_CARD();
  const device::Limits limits = device::limits_of(*ledger::card(ledger::current_card()));
  const bool is_shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  return is_shared && value > limits.shared_bytes_per_block_optin ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  VF_NEED(function);
  *function = reinterpret_cast<CUfunction>(kernel);
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  VF_NEED(name);
  VF_NEED(function);
  *name = nullptr;
  const std::lock_guard guard(loaded().lock);
  auto* known = reinterpret_cast<Function*>(function);
  if (!loaded().functions.contains(known)) return CUDA_ERROR_INVALID_HANDLE;
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

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  return set_function_attribute(attribute, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel, CUdevice) {
  return set_function_attribute(attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return CUDA_SUCCESS; }

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  VF_NEED(module);
  *module = nullptr;
  const std::lock_guard guard(loaded().lock);
  auto* known = reinterpret_cast<Function*>(function);
  if (!loaded().functions.contains(known)) return CUDA_ERROR_INVALID_HANDLE;
  *module = reinterpret_cast<CUmodule>(known->code);
  return CUDA_SUCCESS;
}
