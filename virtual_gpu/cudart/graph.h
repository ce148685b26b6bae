// What the files of the graph functions share: node handles, checked. PyTorch passes what it got from capture; others
// may pass a handle of a graph that is gone, which must be an error.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDART_GRAPH_H
#define VRAMFIT_VIRTUAL_GPU_CUDART_GRAPH_H

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/graph.h"

namespace vramfit::cudart {

// Null: not a node of a live graph.
inline device::Node* node_of(cudaGraphNode_t node) { return device::find_node(node); }
inline void* const* handles_of(const cudaGraphNode_t* nodes) { return reinterpret_cast<void* const*>(nodes); }
inline cudaGraphNode_t handle_of(device::Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

}  // namespace vramfit::cudart

// First line of every function that works on a node: declares `name`, or answers that there is none.
#define VF_NEED_NODE(name, handle)                                      \
  vramfit::device::Node* const name = vramfit::cudart::node_of(handle); \
  if ((name) == nullptr) return vramfit::cudart::answer(cudaErrorInvalidValue)

#endif
