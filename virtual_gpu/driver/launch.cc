// Launches of functions and calls of the host in a stream, and how many blocks run at once.
#include <algorithm>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/kernel.h"
#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/driver/code.h"
#include "virtual_gpu/driver/driver.h"

using vramfit::driver::answer;
using vramfit::driver::is_function;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace {

CUresult launch(CUfunction function, device::Dim grid, device::Dim block, unsigned shared_bytes, CUstream stream) {
  VF_NEED_CARD();
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
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

}  // namespace

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

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_threads,
                                                     size_t shared_bytes) {
  VF_NEED(blocks);
  *blocks = 0;
  VF_NEED_CARD();
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  *blocks = device::blocks_at_once(*ledger::card(ledger::current_card()), block_threads, shared_bytes);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_threads,
                                                              size_t shared_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  VF_NEED(clusters);
  VF_NEED(config);
  *clusters = 0;
  VF_NEED_CARD();
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
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
