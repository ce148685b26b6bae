// Parameters of the driver's graph nodes as device work.
#ifndef VRAMFIT_VIRTUAL_GPU_DRIVER_GRAPH_WORK_H
#define VRAMFIT_VIRTUAL_GPU_DRIVER_GRAPH_WORK_H

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/work.h"
#include "virtual_gpu/driver/driver.h"

namespace vramfit::driver {

// The first form of the parameters begins the second one, which adds a kernel to use where there is no function.
template <typename Params>
device::Work kernel_work(const Params& params) {
  device::Work work;
  work.kind = device::WorkKind::kKernel;
  work.duration_ns = device::kKernelNs;
  work.function = params.func;
  if constexpr (requires { params.kern; }) {
    if (params.func == nullptr) work.function = params.kern;
  }
  work.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  work.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  work.shared_bytes = params.sharedMemBytes;
  return work;
}

// Both forms of the parameters begin alike.
template <typename Params>
device::Work fill_work(const Params& params) {
  device::Work work;
  work.kind = device::WorkKind::kFill;
  work.to = reinterpret_cast<void*>(params.dst);
  work.fill_value = params.value;
  work.fill_element_bytes = params.elementSize;
  work.bytes = params.width * params.elementSize;
  work.rows = params.height;
  work.to_pitch = params.pitch;
  return work;
}

// Rows, not slices: what XLA and PyTorch copy is flat. False: it goes through an array or has depth.
bool to_copy_work(const CUDA_MEMCPY3D& params, device::Work* work);

device::Work work_of_kind(device::WorkKind kind);

// Reads parameters that name their kind. False for child graphs, memory and conditions, which are more than one work.
bool to_work(const CUgraphNodeParams& params, device::Work* work);
// Null for other kinds.
void* event_of(const CUgraphNodeParams& params);

}  // namespace vramfit::driver

#endif
