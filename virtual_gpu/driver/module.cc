// Modules and libraries: what triton and inductor load.
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "virtual_gpu/driver/code.h"

using vramfit::driver::Code;
using vramfit::driver::current_context;
using vramfit::driver::Function;
using vramfit::driver::loaded;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

// A module needs code for the current card at once; a library may be loaded for cards still to come.
CUresult load(Code** code, const void* data, CUcontext context) {
  *code = nullptr;
  VF_NEED_CARD();
  VF_NEED(data);
  std::vector<device::Image> images = device::images_of(data);
  const vf_card* card = ledger::card(ledger::current_card());
  if (!images.empty() && !device::runs_on(images, card->compute_major, card->compute_minor)) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *code = new Code{
      .images = std::move(images), .functions = {}, .globals = vramfit::driver::Globals(data), .context = context};
  const std::lock_guard guard(loaded().lock);
  loaded().codes.insert(*code);
  return CUDA_SUCCESS;
}

CUresult unload(Code* code) {
  VF_NEED_CARD();
  const std::lock_guard guard(loaded().lock);
  if (loaded().codes.erase(code) == 0) return CUDA_ERROR_INVALID_HANDLE;
  vramfit::driver::free_code(code);
  return CUDA_SUCCESS;
}

// Any name is found: which kernels a cubin holds would take parsing it.
CUresult find_function(Function** function, Code* code, const char* name) {
  *function = nullptr;
  VF_NEED_CARD();
  VF_NEED(name);
  const std::lock_guard guard(loaded().lock);
  if (!loaded().codes.contains(code)) return CUDA_ERROR_INVALID_HANDLE;
  for (void* known : code->functions) {
    if (static_cast<Function*>(known)->name == name) *function = static_cast<Function*>(known);
  }
  if (*function != nullptr) return CUDA_SUCCESS;
  *function = new Function{.code = code, .name = name};
  code->functions.insert(*function);
  loaded().functions.insert(*function);
  return CUDA_SUCCESS;
}

CUresult find_global(Code* code, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (address != nullptr) *address = 0;
  if (bytes != nullptr) *bytes = 0;
  VF_NEED_CARD();
  VF_NEED(name);
  const std::lock_guard guard(loaded().lock);
  return loaded().codes.contains(code) ? code->globals.find(name, address, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult load_file(Code** code, const char* path, CUcontext context) {
  VF_NEED(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.append(8, '\0');
  return load(code, text.data(), context);
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  VF_NEED(module);
  return load(reinterpret_cast<Code**>(module), image, current_context());
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  VF_NEED(module);
  *module = nullptr;
  return load_file(reinterpret_cast<Code**>(module), path, current_context());
}

CUresult cuModuleUnload(CUmodule module) { return unload(reinterpret_cast<Code*>(module)); }

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  VF_NEED(function);
  return find_function(reinterpret_cast<Function**>(function), reinterpret_cast<Code*>(module), name);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return find_global(reinterpret_cast<Code*>(module), name, address, bytes);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return find_global(reinterpret_cast<Code*>(library), name, address, bytes);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  VF_NEED(mode);
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  VF_NEED(library);
  return load(reinterpret_cast<Code**>(library), code, nullptr);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  VF_NEED(library);
  *library = nullptr;
  return load_file(reinterpret_cast<Code**>(library), path, nullptr);
}

CUresult cuLibraryUnload(CUlibrary library) { return unload(reinterpret_cast<Code*>(library)); }

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  VF_NEED(kernel);
  return find_function(reinterpret_cast<Function**>(kernel), reinterpret_cast<Code*>(library), name);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  VF_NEED(module);
  *module = nullptr;
  const std::lock_guard guard(loaded().lock);
  if (!loaded().codes.contains(reinterpret_cast<Code*>(library))) return CUDA_ERROR_INVALID_HANDLE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
