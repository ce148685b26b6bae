// Modules, libraries, functions and launches: what triton and inductor load and run.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/kernel.h"
#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/driver/driver.h"
#include "virtual_gpu/driver/globals.h"

using vramfit::driver::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

// Behind CUmodule and CUlibrary alike.
struct Code {
  std::vector<device::Image> images;
  std::set<void*> functions;
  vramfit::driver::Globals globals;
};

// Behind CUfunction and CUkernel alike.
struct Function {
  Code* code = nullptr;
  std::string name;
  int shared_bytes_limit = 48 * 1024;
};

struct Loaded {
  std::mutex lock;
  std::set<Code*> codes;
  std::set<Function*> functions;
};

Loaded& loaded() {
  static auto* const kLoaded = new Loaded;  // outlives other libraries' destructors
  return *kLoaded;
}

// A module needs code for the current card at once; a library may be loaded for cards still to come.
CUresult load(Code** code, const void* data) {
  *code = nullptr;
  VF_NEED_CARD();
  VF_NEED(data);
  std::vector<device::Image> images = device::images_of(data);
  const vf_card* card = ledger::card(ledger::current_card());
  if (!images.empty() && !device::runs_on(images, card->compute_major, card->compute_minor)) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *code = new Code{.images = std::move(images), .functions = {}, .globals = vramfit::driver::Globals(data)};
  const std::lock_guard guard(loaded().lock);
  loaded().codes.insert(*code);
  return CUDA_SUCCESS;
}

CUresult unload(Code* code) {
  VF_NEED_CARD();
  const std::lock_guard guard(loaded().lock);
  if (loaded().codes.erase(code) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (void* function : code->functions) {
    loaded().functions.erase(static_cast<Function*>(function));
    delete static_cast<Function*>(function);
  }
  delete code;
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

CUresult launch(CUfunction function, device::Dim grid, device::Dim block, unsigned shared_bytes, CUstream stream) {
  VF_NEED_CARD();
  VF_NEED(function);
  const int card = ledger::current_card();
  if (!ledger::touch(card)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!ledger::charge_use(card, ledger::Library::kExtension)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (const auto error = device::check_launch(grid, block, shared_bytes, card); error != device::Error::kNone) {
    return answer(error);
  }
  device::Work work;
  work.duration_ns = device::kKernelNs;
  work.function = function;
  work.grid = grid;
  work.block = block;
  work.shared_bytes = shared_bytes;
  return answer(device::submit(stream, work));
}

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

CUresult find_global(Code* code, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (address != nullptr) *address = 0;
  if (bytes != nullptr) *bytes = 0;
  VF_NEED_CARD();
  VF_NEED(name);
  const std::lock_guard guard(loaded().lock);
  return loaded().codes.contains(code) ? code->globals.find(name, address, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult load_file(Code** code, const char* path) {
  VF_NEED(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.append(8, '\0');
  return load(code, text.data());
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  VF_NEED(module);
  return load(reinterpret_cast<Code**>(module), image);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  VF_NEED(module);
  *module = nullptr;
  return load_file(reinterpret_cast<Code**>(module), path);
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
  return load(reinterpret_cast<Code**>(library), code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  VF_NEED(library);
  *library = nullptr;
  return load_file(reinterpret_cast<Code**>(library), path);
}

CUresult cuLibraryUnload(CUlibrary library) { return unload(reinterpret_cast<Code*>(library)); }

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  VF_NEED(kernel);
  return find_function(reinterpret_cast<Function**>(kernel), reinterpret_cast<Code*>(library), name);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  VF_NEED(module);
  *module = reinterpret_cast<CUmodule>(library);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

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

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void**, void**) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  VF_NEED(config);
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void**) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  VF_NEED_CARD();
  VF_NEED(function);
  device::Work work;
  work.kind = device::WorkKind::kHostCall;
  work.host_call = function;
  work.argument = argument;
  return answer(device::submit(stream, work));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_threads, size_t shared_bytes) {
  VF_NEED(blocks);
  *blocks = 0;
  VF_NEED_CARD();
  *blocks = device::blocks_at_once(*ledger::card(ledger::current_card()), block_threads, shared_bytes);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_threads,
                                                              size_t shared_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  VF_NEED(clusters);
  VF_NEED(config);
  *clusters = 0;
  VF_NEED_CARD();
  const vf_card& card = *ledger::card(ledger::current_card());
  unsigned blocks_per_cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& size = config->attrs[i].value.clusterDim;
    blocks_per_cluster = std::max(1u, size.x * size.y * size.z);
  }
  const auto threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
  const int blocks = device::blocks_at_once(card, threads, config->sharedMemBytes) * card.sm_count;
  *clusters = blocks / static_cast<int>(blocks_per_cluster);
  return CUDA_SUCCESS;
}

namespace {

// A tensor map is opaque to the host; only its rules are checked: a multiple of 16 bytes, at most five dimensions.
CUresult encode_tensor_map(CUtensorMap* map, cuuint32_t rank, void* address) {
  VF_NEED(map);
  std::memset(map, 0, sizeof *map);
  VF_NEED_CARD();
  if (rank == 0 || rank > 5 || reinterpret_cast<uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  return encode_tensor_map(map, rank, address);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  VF_NEED(map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

// Linking PTX: the pieces are kept as they are; the "cubin" is the last of them.
struct CUlinkState_st {
  std::string image;
};

namespace {

struct Links {
  std::mutex lock;
  std::set<CUlinkState> live;
};

Links& links() {
  static auto* const kLinks = new Links;  // outlives other libraries' destructors
  return *kLinks;
}

bool is_live(CUlinkState state) {
  const std::lock_guard guard(links().lock);
  return links().live.contains(state);
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  VF_NEED(state);
  *state = nullptr;
  VF_NEED_CARD();
  auto* made = new CUlinkState_st;
  const std::lock_guard guard(links().lock);
  links().live.insert(made);
  *state = made;
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType, void* data, size_t bytes, const char*, unsigned,
                          CUjit_option*, void**) {
  VF_NEED(data);
  if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
  state->image.assign(static_cast<const char*>(data), bytes);
  return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* bytes) {
  VF_NEED(cubin);
  if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
  state->image.push_back('\0');
  *cubin = state->image.data();
  if (bytes != nullptr) *bytes = state->image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  {
    const std::lock_guard guard(links().lock);
    if (links().live.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  delete state;
  return CUDA_SUCCESS;
}
