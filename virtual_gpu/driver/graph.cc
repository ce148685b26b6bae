// Graphs and their executables through the driver, which XLA builds by hand: made, copied, updated, launched.
#include "virtual_gpu/driver/graph.h"

#include <cstring>

using vramfit::driver::answer;
using vramfit::driver::handles_of;
namespace device = vramfit::device;

namespace {

CUresult instantiate(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  VF_NEED(executable);
  *executable = nullptr;
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *executable = reinterpret_cast<CUgraphExec>(device::instantiate(*source, flags));
  return *executable == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult list_nodes(const std::vector<device::Node*>& found, CUgraphNode* nodes, size_t* count) {
  VF_NEED(count);
  const size_t room = nodes == nullptr ? 0 : *count;
  for (size_t i = 0; i < room; ++i) nodes[i] = i < found.size() ? vramfit::driver::handle_of(found[i]) : nullptr;
  *count = nodes == nullptr ? found.size() : std::min(room, found.size());
  return CUDA_SUCCESS;
}

CUresult list_nodes_of(CUgraph graph, bool roots_only, CUgraphNode* nodes, size_t* count) {
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return list_nodes(device::nodes_of(*source, roots_only), nodes, count);
}

// No edge here carries data: ports are for kernels that start others early.
void clear(CUgraphEdgeData* edges, const size_t* count) {
  if (edges != nullptr && count != nullptr) std::memset(edges, 0, *count * sizeof *edges);
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_CARD();
  *graph = reinterpret_cast<CUgraph>(device::create_graph());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  VF_NEED_CARD();
  return answer(device::destroy_graph(reinterpret_cast<device::Graph*>(graph)));
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  VF_NEED(clone);
  *clone = nullptr;
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(original);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clone = reinterpret_cast<CUgraph>(device::clone_graph(*source));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return instantiate(executable, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  VF_NEED(params);
  params->hErrNode_out = nullptr;
  params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate(executable, graph, params->flags);
}

CUresult cuGraphExecGetFlags(CUgraphExec executable, cuuint64_t* flags) {
  VF_NEED(flags);
  *flags = 0;
  const device::Executable* source = device::find_executable(executable);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = source->flags;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  VF_NEED_CARD();
  return answer(device::destroy_executable(reinterpret_cast<device::Executable*>(executable)));
}

CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  VF_NEED(info);
  std::memset(info, 0, sizeof *info);
  VF_NEED_CARD();
  device::Executable* target = device::find_executable(executable);
  const device::Graph* source = device::find_graph(graph);
  if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto error = device::update_executable(*target, *source);
  info->result =
      error == device::Error::kNone ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  return answer(error);
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream) {
  return device::find_executable(executable) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  VF_NEED_CARD();
  device::Executable* target = device::find_executable(executable);
  if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return answer(device::launch_graph(*target, stream));
}

// -- which nodes a graph has and what each needs

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return list_nodes_of(graph, false, nodes, count);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return list_nodes_of(graph, true, nodes, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  VF_NEED_NODE(found, node);
  return list_nodes(found->needs, nodes, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges, size_t* count) {
  clear(edges, count);
  return cuGraphNodeGetDependencies(node, nodes, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  VF_NEED_NODE(found, node);
  return list_nodes(device::dependents_of(*found), nodes, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges, size_t* count) {
  clear(edges, count);
  return cuGraphNodeGetDependentNodes(node, nodes, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return answer(device::change_edges(graph, handles_of(from), handles_of(to), count, true));
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  return cuGraphAddDependencies(graph, from, to, count);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return answer(device::change_edges(graph, handles_of(from), handles_of(to), count, false));
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return cuGraphRemoveDependencies(graph, from, to, count);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  VF_NEED(type);
  VF_NEED_NODE(found, node);
  *type = static_cast<CUgraphNodeType>(found->work.kind);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  VF_NEED_NODE(found, node);
  return answer(device::destroy_node(found));
}
