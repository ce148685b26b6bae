// Nodes of each kind, added by hand through the driver, and their parameters, in graphs and in executables.
#include <cstring>

#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/driver/code.h"
#include "virtual_gpu/driver/graph.h"
#include "virtual_gpu/driver/graph_work.h"

using vramfit::driver::answer;
using vramfit::driver::fill_work;
using vramfit::driver::handle_of;
using vramfit::driver::handles_of;
using vramfit::driver::kernel_work;
using vramfit::driver::to_copy_work;
using vramfit::driver::work_of_kind;
namespace device = vramfit::device;

namespace {

// What a node names has to be there: a function that was loaded, an event that was made.
bool names_what_is_there(const device::Work& work, void* event) {
  switch (work.kind) {
    case device::WorkKind::kKernel:
      return vramfit::driver::is_function(work.function);
    case device::WorkKind::kRecordEvent:
    case device::WorkKind::kWaitEvent:
      return device::is_event(event);
    default:
      return true;
  }
}

CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count, const device::Work& work,
             void* event = nullptr) {
  VF_NEED_CARD();
  VF_NEED(node);
  *node = nullptr;
  if (!names_what_is_there(work, event)) return CUDA_ERROR_INVALID_VALUE;
  device::Node* made = nullptr;
  const auto error = device::add_node_by_handles(graph, handles_of(needs), count, work, &made);
  if (made != nullptr) made->event = event;
  *node = handle_of(made);
  return answer(error);
}

CUresult set_work(CUgraphNode node, const device::Work& work, void* event = nullptr) {
  VF_NEED_NODE(found, node);
  if (found->work.kind != work.kind || !names_what_is_there(work, event)) return CUDA_ERROR_INVALID_VALUE;
  found->work = work;
  found->event = event;
  return CUDA_SUCCESS;
}

CUresult set_work(CUgraphExec executable, CUgraphNode node, const device::Work& work, void* event = nullptr) {
  device::Work* known = device::work_in(executable, node);
  if (known == nullptr || known->kind != work.kind) return CUDA_ERROR_INVALID_VALUE;
  if (!names_what_is_there(work, event)) return CUDA_ERROR_INVALID_VALUE;
  *known = work;
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult get_kernel(CUgraphNode node, Params* params) {
  VF_NEED(params);
  std::memset(params, 0, sizeof *params);
  VF_NEED_NODE(found, node);
  const device::Work& work = found->work;
  if (work.kind != device::WorkKind::kKernel) return CUDA_ERROR_INVALID_VALUE;
  params->func = static_cast<CUfunction>(const_cast<void*>(work.function));
  params->gridDimX = work.grid.x;
  params->gridDimY = work.grid.y;
  params->gridDimZ = work.grid.z;
  params->blockDimX = work.block.x;
  params->blockDimY = work.block.y;
  params->blockDimZ = work.block.z;
  params->sharedMemBytes = work.shared_bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count) {
  return add(node, graph, needs, count, work_of_kind(device::WorkKind::kEmpty));
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  VF_NEED(params);
  return add(node, graph, needs, count, kernel_work(*params));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* params) {
  VF_NEED(params);
  return add(node, graph, needs, count, kernel_work(*params));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  VF_NEED(params);
  return add(node, graph, needs, count, fill_work(*params));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext) {
  VF_NEED(params);
  VF_NEED(node);
  *node = nullptr;
  device::Work work;
  return to_copy_work(*params, &work) ? add(node, graph, needs, count, work) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  VF_NEED(params);
  device::Work work = work_of_kind(device::WorkKind::kHostCall);
  work.host_call = params->fn;
  work.argument = params->userData;
  return add(node, graph, needs, count, work);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                                   CUevent event) {
  return add(node, graph, needs, count, work_of_kind(device::WorkKind::kRecordEvent), event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                                 CUevent event) {
  return add(node, graph, needs, count, work_of_kind(device::WorkKind::kWaitEvent), event);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                                  CUgraph child) {
  VF_NEED_CARD();
  VF_NEED(node);
  device::Node* made = nullptr;
  const auto error = device::add_child_by_handles(graph, handles_of(needs), count, child, &made);
  *node = handle_of(made);
  return answer(error);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_NODE(found, node);
  *graph = reinterpret_cast<CUgraph>(found->child.get());
  return *graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// -- parameters

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return get_kernel(node, params);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  return get_kernel(node, params);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  VF_NEED(params);
  return set_work(node, kernel_work(*params));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  VF_NEED(params);
  return set_work(node, kernel_work(*params));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  VF_NEED(params);
  return set_work(executable, node, kernel_work(*params));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  VF_NEED(params);
  return set_work(executable, node, kernel_work(*params));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  VF_NEED(params);
  return set_work(node, fill_work(*params));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                        CUcontext) {
  VF_NEED(params);
  return set_work(executable, node, fill_work(*params));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  VF_NEED(params);
  device::Work work;
  return to_copy_work(*params, &work) ? set_work(node, work) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                        CUcontext) {
  VF_NEED(params);
  device::Work work;
  return to_copy_work(*params, &work) ? set_work(executable, node, work) : CUDA_ERROR_NOT_SUPPORTED;
}

// Priorities and clusters make no difference to memory.
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID, const CUkernelNodeAttrValue* value) {
  VF_NEED(value);
  VF_NEED_NODE(found, node);
  return found->work.kind == device::WorkKind::kKernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// -- a node of any kind: the kind is in the parameters

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, const CUgraphEdgeData*,
                           size_t count, CUgraphNodeParams* params) {
  VF_NEED(params);
  VF_NEED(node);
  *node = nullptr;
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
    return cuGraphAddChildGraphNode(node, graph, needs, count, params->graph.graph);
  device::Work work;
  if (!vramfit::driver::to_work(*params, &work)) {
    vramfit::ledger::note_not_modelled("cuGraphAddNode of this kind of node");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return add(node, graph, needs, count, work, vramfit::driver::event_of(*params));
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* needs, size_t count,
                        CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(node, graph, needs, nullptr, count, params);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  VF_NEED(params);
  device::Work work;
  if (!vramfit::driver::to_work(*params, &work)) return CUDA_ERROR_NOT_SUPPORTED;
  return set_work(node, work, vramfit::driver::event_of(*params));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  VF_NEED_CARD();
  return answer(device::update_child(executable, node, child));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams* params) {
  VF_NEED(params);
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
    return cuGraphExecChildGraphNodeSetParams(executable, node, params->graph.graph);
  device::Work work;
  if (!vramfit::driver::to_work(*params, &work)) return CUDA_ERROR_NOT_SUPPORTED;
  return set_work(executable, node, work, vramfit::driver::event_of(*params));
}
