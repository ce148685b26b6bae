// What the files of the driver's graph functions share. Its graphs are the runtime's: one may be made by either.
#ifndef VRAMFIT_VIRTUAL_GPU_DRIVER_GRAPH_H
#define VRAMFIT_VIRTUAL_GPU_DRIVER_GRAPH_H

#include "virtual_gpu/device/graph.h"
#include "virtual_gpu/driver/driver.h"

namespace vramfit::driver {

inline CUgraphNode handle_of(device::Node* node) { return reinterpret_cast<CUgraphNode>(node); }
inline void* const* handles_of(const CUgraphNode* nodes) { return reinterpret_cast<void* const*>(nodes); }

}  // namespace vramfit::driver

// Declares `name`, or answers that there is no such node in a live graph.
#define VF_NEED_NODE(name, handle)                                        \
  vramfit::device::Node* const name = vramfit::device::find_node(handle); \
  if ((name) == nullptr) return CUDA_ERROR_INVALID_VALUE

#endif
