// Kernels: what the compiler registers at load time, launches, occupancy.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/kernel.h"
#include "virtual_gpu/device/kernel_arguments.h"
#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/device/stream.h"
#include "vramfit/recording.h"

using vramfit::cudart::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

device::Dim dim_of(dim3 dim) { return {dim.x, dim.y, dim.z}; }

// Tells the recorder what the launch touches; graphs tell it once, when they are captured.
void tell(const void* function, dim3 grid, dim3 block, void* const* arguments, int card) {
  if (!ledger::is_recorded()) return;
  const unsigned blocks = grid.x * grid.y * grid.z;
  const device::KernelForm form = device::form_of_kernel(function);
  const device::Touched touched = device::touched_by(form, arguments, blocks, block.x * block.y * block.z);
  if (touched.multiply_adds > 0) {
    ledger::emit(VF_RECORD_MATMUL, card, vf_shape_of(touched.rows, touched.columns, touched.batch), VF_DTYPE_F16,
                 touched.multiply_adds, touched.bytes, nullptr);
  } else {
    // Its time is that of the memory that it touches; that it convolves tells whose result its output is.
    if (form.convolves) ledger::emit(VF_RECORD_CONVOLUTION, card, 0, VF_DTYPE_OTHER, 0, 0, nullptr);
    ledger::tell_kernel(card, touched);
  }
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void* const* arguments, size_t shared_bytes,
                   cudaStream_t stream) {
  VF_NEED_CARD();
  if (function == nullptr) return answer(cudaErrorInvalidDeviceFunction);
  const int card = ledger::current_card();
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  device::Error error = device::check_launch(dim_of(grid), dim_of(block), shared_bytes, card);
  if (error == device::Error::kNone) error = device::check_kernel(function, card);
  if (error != device::Error::kNone) return answer(error);
  device::Work work;
  work.duration_ns = device::kKernelNs;
  work.function = function;
  work.grid = dim_of(grid);
  work.block = dim_of(block);
  work.shared_bytes = static_cast<unsigned>(shared_bytes);
  tell(function, grid, block, arguments, card);
  return answer(device::submit(stream, work));
}

struct Configuration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;  // <<<...>>> between its two halves

// __device__ variables: their host address names them; device memory is made when somebody asks.
struct Variable {
  size_t bytes = 0;
  void* address[VF_MAX_CARDS] = {};
};

struct Variables {
  std::mutex lock;
  std::unordered_map<const void*, Variable> by_symbol;
};

Variables& variables() {
  static auto* const kVariables = new Variables;  // outlives other libraries' destructors
  return *kVariables;
}

cudaError_t find_variable(const void* symbol, void** address, size_t* bytes) {
  VF_NEED_CARD();
  Variables& all = variables();
  const std::lock_guard guard(all.lock);
  const auto found = all.by_symbol.find(symbol);
  if (found == all.by_symbol.end()) return answer(cudaErrorInvalidSymbol);
  void*& place = found->second.address[ledger::current_card()];
  if (place == nullptr) place = device::allocate(ledger::current_card(), std::max<size_t>(found->second.bytes, 1));
  if (place == nullptr) return answer(cudaErrorMemoryAllocation);
  *address = place;
  *bytes = found->second.bytes;
  return cudaSuccess;
}

cudaError_t copy_symbol(const void* symbol, size_t bytes, size_t offset, void** address) {
  size_t size = 0;
  const cudaError_t error = find_variable(symbol, address, &size);
  if (error != cudaSuccess) return error;
  if (offset + bytes > size) return answer(cudaErrorInvalidValue);
  *address = static_cast<char*>(*address) + offset;
  return cudaSuccess;
}

}  // namespace

// The compiler's own interface: called by code that nvcc generates, declared in no public header.
extern "C" {
VF_EXPORT void** __cudaRegisterFatBinary(void* binary);
VF_EXPORT void __cudaRegisterFatBinaryEnd(void** handle);
VF_EXPORT void __cudaUnregisterFatBinary(void** handle);
VF_EXPORT char __cudaInitModule(void** handle);
VF_EXPORT void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function, const char* name,
                                      int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid,
                                      int* warp_size);
VF_EXPORT void __cudaRegisterVar(void** handle, char* host_variable, char* device_address, const char* name,
                                 int external, size_t bytes, int constant, int global);
VF_EXPORT void __cudaRegisterManagedVar(void** handle, void** host_variable, char* device_address, const char* name,
                                        int external, size_t bytes, int constant, int global);
VF_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream);
VF_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
VF_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function);
VF_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                         size_t shared_bytes, cudaStream_t stream);
}

void** __cudaRegisterFatBinary(void* binary) { return reinterpret_cast<void**>(device::register_module(binary)); }

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}  // only at exit; launches may still follow from other destructors
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  device::register_kernel(reinterpret_cast<device::Module*>(handle), host_function, name);
}

void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int, size_t bytes, int, int) {
  const std::lock_guard guard(variables().lock);
  variables().by_symbol[host_variable].bytes = bytes;
}

// The host reads such a variable through a pointer, which must point somewhere from the start.
void __cudaRegisterManagedVar(void**, void** host_variable, char*, const char*, int, size_t bytes, int, int) {
  *host_variable = std::calloc(1, std::max<size_t>(bytes, 1));
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return answer(cudaErrorMissingConfiguration);
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

// A kernel handle is the host function's address: nothing more is known of a kernel here.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  VF_NEED(kernel);
  return __cudaGetKernel(kernel, function);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  VF_NEED(function);
  *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return symbol == nullptr ? answer(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  VF_NEED(config);
  return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  VF_NEED(address);
  *address = nullptr;
  size_t bytes = 0;
  return find_variable(symbol, address, &bytes);
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  VF_NEED(bytes);
  *bytes = 0;
  void* address = nullptr;
  return find_variable(symbol, &address, bytes);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  void* address = nullptr;
  const cudaError_t error = copy_symbol(symbol, bytes, offset, &address);
  return error != cudaSuccess ? error : cudaMemcpyAsync(address, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  const cudaError_t error = copy_symbol(symbol, bytes, offset, &address);
  return error != cudaSuccess ? error : cudaMemcpy(address, from, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  void* address = nullptr;
  const cudaError_t error = copy_symbol(symbol, bytes, offset, &address);
  return error != cudaSuccess ? error : cudaMemcpyAsync(to, address, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  const cudaError_t error = copy_symbol(symbol, bytes, offset, &address);
  return error != cudaSuccess ? error : cudaMemcpy(to, address, bytes, kind);
}

// No kernel was compiled here, so its registers are a middle value: enough for two blocks of 1024 threads on a
// multiprocessor with 64 Ki registers.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  VF_NEED(attributes);
  std::memset(attributes, 0, sizeof *attributes);
  VF_NEED_CARD();
  const int card = ledger::current_card();
  if (const auto error = device::check_kernel(function, card); error != device::Error::kNone) return answer(error);
  const device::Build build = device::build_of_kernel(function, card);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = static_cast<int>(build.binary);
  attributes->ptxVersion = static_cast<int>(build.ptx);
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  attributes->preferredShmemCarveout = -1;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute which, int value) {
  VF_NEED_CARD();
  const int most = device::limits_of(*ledger::card(ledger::current_card())).shared_bytes_per_block_optin;
  if (which == cudaFuncAttributeMaxDynamicSharedMemorySize && value > most) return answer(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int block_threads,
                                                                   size_t shared_bytes, unsigned) {
  VF_NEED(blocks);
  *blocks = 0;
  VF_NEED_CARD();
  *blocks = device::blocks_at_once(*ledger::card(ledger::current_card()), block_threads, shared_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads, shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int blocks, int) {
  VF_NEED(bytes);
  *bytes = 0;
  VF_NEED_CARD();
  const device::Limits limits = device::limits_of(*ledger::card(ledger::current_card()));
  const int share = limits.shared_bytes_per_sm / std::max(blocks, 1) - device::kReservedSharedBytes;
  *bytes = static_cast<size_t>(std::clamp(share, 0, limits.shared_bytes_per_block_optin));
  return cudaSuccess;
}
