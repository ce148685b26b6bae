// Driver functions by name, and libraries of kernels loaded at run time.
#include "virtual_gpu/cudart/runtime.h"

using vramfit::cudart::answer;

namespace {

cudaError_t find_entry(const char* name, void** function, unsigned version, unsigned long long flags,
                       cudaDriverEntryPointQueryResult* status) {
  VF_NEED(name);
  VF_NEED(function);
  *function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  cuGetProcAddress(name, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) {
    *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    return cudaSuccess;
  }
  return *function == nullptr ? answer(cudaErrorSymbolNotFound) : cudaSuccess;
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return find_entry(name, function, CUDART_VERSION, flags, status);
}

#if CUDART_VERSION < 13000
extern "C" VF_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                                  unsigned long long flags,
                                                                  cudaDriverEntryPointQueryResult* status);
#endif

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return find_entry(name, function, version, flags, status);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  VF_NEED(library);
  *library = nullptr;
  VF_NEED_CARD();
  return answer(
      cuLibraryLoadData(reinterpret_cast<CUlibrary*>(library), code, nullptr, nullptr, 0, nullptr, nullptr, 0));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return answer(cuLibraryUnload(reinterpret_cast<CUlibrary>(library)));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  VF_NEED(kernel);
  *kernel = nullptr;
  return answer(cuLibraryGetKernel(reinterpret_cast<CUkernel*>(kernel), reinterpret_cast<CUlibrary>(library), name));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int card) {
  VF_NEED_CARD();
  return vramfit::ledger::card(card) == nullptr ? answer(cudaErrorInvalidDevice) : cudaSuccess;
}
#endif
