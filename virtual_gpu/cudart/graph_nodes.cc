// Nodes of each kind, added by hand, and their parameters, in graphs and in executables.
#include "virtual_gpu/cudart/graph.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/stream.h"

using vramfit::cudart::answer;
using vramfit::cudart::handle_of;
namespace device = vramfit::device;

namespace {

device::Work kernel_work(const cudaKernelNodeParams& params) {
  device::Work work;
  work.kind = device::WorkKind::kKernel;
  work.duration_ns = device::kKernelNs;
  work.function = params.func;
  work.grid = {params.gridDim.x, params.gridDim.y, params.gridDim.z};
  work.block = {params.blockDim.x, params.blockDim.y, params.blockDim.z};
  work.shared_bytes = params.sharedMemBytes;
  return work;
}

device::Work memset_work(const cudaMemsetParams& params) {
  device::Work work;
  work.kind = device::WorkKind::kFill;
  work.to = params.dst;
  work.fill_value = params.value;
  work.fill_element_bytes = params.elementSize;
  work.bytes = params.width * params.elementSize;
  work.rows = params.height;
  work.to_pitch = params.pitch;
  return work;
}

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                const device::Work& work, void* event = nullptr) {
  VF_NEED_CARD();
  VF_NEED(node);
  device::Node* made = nullptr;
  const auto error = device::add_node_by_handles(graph, vramfit::cudart::handles_of(needs), count, work, &made);
  if (made != nullptr) made->event = event;
  *node = handle_of(made);
  return answer(error);
}

// An event that nobody made is refused, as where it is recorded.
cudaError_t add_of_event(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                         device::WorkKind kind, cudaEvent_t event) {
  VF_NEED(node);
  *node = nullptr;
  if (!device::is_event(event)) return answer(cudaErrorInvalidValue);
  device::Work work;
  work.kind = kind;
  return add(node, graph, needs, count, work, event);
}

// Checks as at a launch: functions that were not registered pass, which a program may have from elsewhere.
cudaError_t check(const cudaKernelNodeParams& params) {
  return params.func == nullptr ? answer(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                  size_t count) {
  device::Work work;
  work.kind = device::WorkKind::kEmpty;
  return add(node, graph, needs, count, work);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                   const cudaKernelNodeParams* params) {
  VF_NEED(params);
  if (const cudaError_t error = check(*params); error != cudaSuccess) return error;
  return add(node, graph, needs, count, kernel_work(*params));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                   const cudaMemsetParams* params) {
  VF_NEED(params);
  return add(node, graph, needs, count, memset_work(*params));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  device::Work work;
  work.kind = device::WorkKind::kCopy;
  work.to = to;
  work.from = from;
  work.bytes = bytes;
  return add(node, graph, needs, count, work);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                 const cudaHostNodeParams* params) {
  VF_NEED(params);
  device::Work work;
  work.kind = device::WorkKind::kHostCall;
  work.host_call = params->fn;
  work.argument = params->userData;
  return add(node, graph, needs, count, work);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                        size_t count, cudaEvent_t event) {
  return add_of_event(node, graph, needs, count, device::WorkKind::kRecordEvent, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                      size_t count, cudaEvent_t event) {
  return add_of_event(node, graph, needs, count, device::WorkKind::kWaitEvent, event);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                       size_t count, cudaGraph_t child) {
  VF_NEED_CARD();
  VF_NEED(node);
  device::Node* made = nullptr;
  const auto error = device::add_child_by_handles(graph, vramfit::cudart::handles_of(needs), count, child, &made);
  *node = handle_of(made);
  return answer(error);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_NODE(found, node);
  *graph = reinterpret_cast<cudaGraph_t>(found->child.get());
  return *graph == nullptr ? answer(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  VF_NEED(params);
  *params = {};
  VF_NEED_NODE(found, node);
  const device::Work& work = found->work;
  if (work.kind != device::WorkKind::kKernel) return answer(cudaErrorInvalidValue);
  params->func = const_cast<void*>(work.function);
  params->gridDim = dim3(work.grid.x, work.grid.y, work.grid.z);
  params->blockDim = dim3(work.block.x, work.block.y, work.block.z);
  params->sharedMemBytes = work.shared_bytes;
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  VF_NEED(params);
  if (const cudaError_t error = check(*params); error != cudaSuccess) return error;
  VF_NEED_NODE(found, node);
  if (found->work.kind != device::WorkKind::kKernel) return answer(cudaErrorInvalidValue);
  found->work = kernel_work(*params);
  return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  VF_NEED(params);
  if (const cudaError_t error = check(*params); error != cudaSuccess) return error;
  device::Work* work = device::work_in(executable, node);
  if (work == nullptr || work->kind != device::WorkKind::kKernel) return answer(cudaErrorInvalidValue);
  *work = kernel_work(*params);
  return cudaSuccess;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  VF_NEED(params);
  device::Work* work = device::work_in(executable, node);
  if (work == nullptr || work->kind != device::WorkKind::kFill) return answer(cudaErrorInvalidValue);
  *work = memset_work(*params);
  return cudaSuccess;
}
