// Graphs: what capture made, nodes added by hand, executables.
#include "virtual_gpu/device/graph.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/stream.h"

using vramfit::cudart::answer;
namespace device = vramfit::device;

namespace {

device::Node* node_of(cudaGraphNode_t node) { return reinterpret_cast<device::Node*>(node); }
cudaGraphNode_t handle_of(device::Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

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

// Graph, output and dependencies are checked alike for every kind of node.
cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                const device::Work& work, device::Node** made = nullptr) {
  VF_NEED_CARD();
  VF_NEED(node);
  *node = nullptr;
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr || (count != 0 && needs == nullptr)) return answer(cudaErrorInvalidValue);
  auto* const* first = reinterpret_cast<device::Node* const*>(needs);
  device::Node* added = device::add_node(*target, work, std::vector<device::Node*>(first, first + count));
  *node = handle_of(added);
  if (made != nullptr) *made = added;
  return cudaSuccess;
}

cudaError_t list_nodes(const std::vector<device::Node*>& found, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED(count);
  const size_t room = nodes == nullptr ? 0 : *count;
  for (size_t i = 0; i < room; ++i) nodes[i] = i < found.size() ? handle_of(found[i]) : nullptr;
  *count = nodes == nullptr ? found.size() : std::min(room, found.size());
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  VF_NEED(executable);
  *executable = nullptr;
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  *executable = reinterpret_cast<cudaGraphExec_t>(device::instantiate(*source, flags));
  return cudaSuccess;
}

// The executable's copy of a node's work; null when the node is not part of it.
device::Work* work_in(cudaGraphExec_t executable, cudaGraphNode_t node) {
  device::Executable* target = device::find_executable(executable);
  if (target == nullptr) return nullptr;
  const auto found = std::ranges::find(target->origins, static_cast<const device::Node*>(node_of(node)));
  return found == target->origins.end() ? nullptr
                                        : &target->works[static_cast<size_t>(found - target->origins.begin())];
}

std::vector<device::Node*> dependents(cudaGraphNode_t node) {
  std::vector<device::Node*> found;
  for (const auto& other : node_of(node)->graph->nodes) {
    if (std::ranges::find(other->needs, node_of(node)) != other->needs.end()) found.push_back(other.get());
  }
  return found;
}

cudaError_t change_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count,
                         bool is_new) {
  if (device::find_graph(graph) == nullptr) return answer(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    std::vector<device::Node*>& needs = node_of(to[i])->needs;
    std::erase(needs, node_of(from[i]));
    if (is_new) needs.push_back(node_of(from[i]));
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_CARD();
  *graph = reinterpret_cast<cudaGraph_t>(device::create_graph());
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  VF_NEED_CARD();
  return answer(device::destroy_graph(reinterpret_cast<device::Graph*>(graph)));
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  VF_NEED(clone);
  *clone = nullptr;
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(original);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  *clone = reinterpret_cast<cudaGraph_t>(device::clone_graph(*source));
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  std::vector<device::Node*> found;
  for (const auto& node : source->nodes) found.push_back(node.get());
  return list_nodes(found, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  std::vector<device::Node*> found;
  for (const auto& node : source->nodes) {
    if (node->needs.empty()) found.push_back(node.get());
  }
  return list_nodes(found, nodes, count);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  VF_NEED(node);
  if (edges != nullptr && count != nullptr) std::memset(edges, 0, *count * sizeof *edges);
  return list_nodes(node_of(node)->needs, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                           size_t* count) {
  VF_NEED(node);
  if (edges != nullptr && count != nullptr) std::memset(edges, 0, *count * sizeof *edges);
  return list_nodes(dependents(node), nodes, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t count) {
  return change_edges(graph, from, to, count, true);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, size_t count) {
  return change_edges(graph, from, to, count, false);
}
#else
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED(node);
  return list_nodes(node_of(node)->needs, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED(node);
  return list_nodes(dependents(node), nodes, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
  return change_edges(graph, from, to, count, true);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        size_t count) {
  return change_edges(graph, from, to, count, false);
}
#endif

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  VF_NEED(node);
  VF_NEED(type);
  *type = static_cast<cudaGraphNodeType>(node_of(node)->work.kind);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  VF_NEED(node);
  return answer(device::destroy_node(node_of(node)));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                  size_t count) {
  device::Work work;
  work.kind = device::WorkKind::kEmpty;
  return add(node, graph, needs, count, work);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                   const cudaKernelNodeParams* params) {
  VF_NEED(params);
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
  device::Work work;
  work.kind = device::WorkKind::kRecordEvent;
  device::Node* made = nullptr;
  const cudaError_t error = add(node, graph, needs, count, work, &made);
  if (made != nullptr) made->event = event;
  return error;
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                      size_t count, cudaEvent_t event) {
  device::Work work;
  work.kind = device::WorkKind::kWaitEvent;
  device::Node* made = nullptr;
  const cudaError_t error = add(node, graph, needs, count, work, &made);
  if (made != nullptr) made->event = event;
  return error;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                       size_t count, cudaGraph_t child) {
  const device::Graph* source = device::find_graph(child);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  device::Work work;
  work.kind = device::WorkKind::kGraph;
  device::Node* made = nullptr;
  const cudaError_t error = add(node, graph, needs, count, work, &made);
  if (made != nullptr) {
    made->child = std::shared_ptr<device::Graph>(device::clone_graph(*source),
                                                 [](device::Graph* clone) { device::destroy_graph(clone); });
  }
  return error;
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  VF_NEED(node);
  VF_NEED(graph);
  *graph = reinterpret_cast<cudaGraph_t>(node_of(node)->child.get());
  return *graph == nullptr ? answer(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  VF_NEED(node);
  VF_NEED(params);
  *params = {};
  const device::Work& work = node_of(node)->work;
  if (work.kind != device::WorkKind::kKernel) return answer(cudaErrorInvalidValue);
  params->func = const_cast<void*>(work.function);
  params->gridDim = dim3(work.grid.x, work.grid.y, work.grid.z);
  params->blockDim = dim3(work.block.x, work.block.y, work.block.z);
  params->sharedMemBytes = work.shared_bytes;
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  VF_NEED(node);
  VF_NEED(params);
  node_of(node)->work = kernel_work(*params);
  return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  VF_NEED(params);
  device::Work* work = work_in(executable, node);
  if (work == nullptr) return answer(cudaErrorInvalidValue);
  *work = kernel_work(*params);
  return cudaSuccess;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  VF_NEED(params);
  device::Work* work = work_in(executable, node);
  if (work == nullptr) return answer(cudaErrorInvalidValue);
  *work = memset_work(*params);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(executable, graph, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(executable, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  VF_NEED(params);
  params->errNode_out = nullptr;
  params->result_out = cudaGraphInstantiateSuccess;
  return instantiate(executable, graph, params->flags);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  VF_NEED(flags);
  *flags = 0;
  const device::Executable* source = device::find_executable(executable);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  *flags = source->flags;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  VF_NEED_CARD();
  return answer(device::destroy_executable(reinterpret_cast<device::Executable*>(executable)));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  VF_NEED(info);
  std::memset(info, 0, sizeof *info);
  VF_NEED_CARD();
  device::Executable* target = device::find_executable(executable);
  const device::Graph* source = device::find_graph(graph);
  if (target == nullptr || source == nullptr) return answer(cudaErrorInvalidValue);
  const auto error = device::update_executable(*target, *source);
  info->result = error == device::Error::kNone ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  return answer(error);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  return device::find_executable(executable) == nullptr ? answer(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  VF_NEED_CARD();
  device::Executable* target = device::find_executable(executable);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  return answer(device::launch_graph(*target, stream));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned references,
                                 unsigned) {
  VF_NEED(object);
  *object = nullptr;
  if (destroy == nullptr || references == 0) return answer(cudaErrorInvalidValue);
  auto* made = new device::UserObject;
  made->object = pointer;
  made->destroy = destroy;
  made->references = references;
  *object = reinterpret_cast<cudaUserObject_t>(made);
  return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  VF_NEED(object);
  device::retain_object(*reinterpret_cast<device::UserObject*>(object), count);
  return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return answer(device::release_object(reinterpret_cast<device::UserObject*>(object), count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  const bool move = (flags & cudaGraphUserObjectMove) != 0;
  return answer(device::keep_object(*target, reinterpret_cast<device::UserObject*>(object), count, move));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  return answer(device::let_go_of_object(*target, reinterpret_cast<device::UserObject*>(object), count));
}

// Graphviz, as the real call writes, with a node per line.
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  VF_NEED(path);
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return answer(cudaErrorOperatingSystem);
  std::fprintf(file, "digraph dot {\n");
  for (const auto& node : source->nodes) {
    std::fprintf(file, "  \"%p\" [label=\"kind %d\"];\n", static_cast<void*>(node.get()),
                 static_cast<int>(node->work.kind));
    for (const device::Node* need : node->needs) {
      std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(need), static_cast<void*>(node.get()));
    }
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return cudaSuccess;
}

// Memory that graphs hold is in the default pool here, so there is none of its own to speak of.
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  VF_NEED(value);
  *static_cast<cuuint64_t*>(value) = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int) { return cudaSuccess; }
