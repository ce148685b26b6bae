// Which nodes a graph has and what each needs.
#include <algorithm>
#include <cstring>
#include <vector>

#include "virtual_gpu/cudart/graph.h"

using vramfit::cudart::answer;
using vramfit::cudart::handle_of;
using vramfit::cudart::handles_of;
namespace device = vramfit::device;

namespace {

cudaError_t list_nodes(const std::vector<device::Node*>& found, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED(count);
  const size_t room = nodes == nullptr ? 0 : *count;
  for (size_t i = 0; i < room; ++i) nodes[i] = i < found.size() ? handle_of(found[i]) : nullptr;
  *count = nodes == nullptr ? found.size() : std::min(room, found.size());
  return cudaSuccess;
}

cudaError_t change_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count,
                         bool is_new) {
  return answer(device::change_edges(graph, handles_of(from), handles_of(to), count, is_new));
}

}  // namespace

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  return list_nodes(device::nodes_of(*source, false), nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  return list_nodes(device::nodes_of(*source, true), nodes, count);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  VF_NEED_NODE(found, node);
  if (edges != nullptr && count != nullptr) std::memset(edges, 0, *count * sizeof *edges);
  return list_nodes(found->needs, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                           size_t* count) {
  VF_NEED_NODE(found, node);
  if (edges != nullptr && count != nullptr) std::memset(edges, 0, *count * sizeof *edges);
  return list_nodes(device::dependents_of(*found), nodes, count);
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
  VF_NEED_NODE(found, node);
  return list_nodes(found->needs, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  VF_NEED_NODE(found, node);
  return list_nodes(device::dependents_of(*found), nodes, count);
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
  VF_NEED(type);
  VF_NEED_NODE(found, node);
  *type = static_cast<cudaGraphNodeType>(found->work.kind);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  VF_NEED_NODE(found, node);
  return answer(device::destroy_node(found));
}
