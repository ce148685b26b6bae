// CUDA graphs: nodes with dependencies, made by capture or by hand, and executable copies of them.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_GRAPH_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_GRAPH_H

#include <atomic>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/device/work.h"

namespace vramfit::device {

struct Graph;

struct Node {
  Work work;
  Graph* graph = nullptr;
  std::vector<Node*> needs;
  std::shared_ptr<Graph> child;  // kGraph
  void* event = nullptr;         // kWaitEvent, kRecordEvent
};

// Something the graph keeps alive: the caller's destructor runs when the last reference goes.
struct UserObject {
  void* object = nullptr;
  void (*destroy)(void*) = nullptr;
  std::atomic<unsigned> references{0};
};
VF_EXPORT UserObject* create_object(void* of, void (*destroy)(void*), unsigned references);
VF_EXPORT UserObject* find_object(void* handle);  // null: not a live object
VF_EXPORT void retain_object(UserObject& object, unsigned count);
VF_EXPORT Error release_object(UserObject* object, unsigned count);

// Memory that a captured cudaFreeAsync gives back: it is needed at every launch, so it lives as long as the graph and
// its executables. What the graph allocates and does not free outlives it, until somebody frees it.
struct VF_EXPORT GraphMemory {
  std::vector<std::pair<void*, uint64_t>> blocks;  // address and its allocation's id
  ~GraphMemory();
};

struct VF_EXPORT Graph {
  uint32_t magic = 0;
  std::vector<std::unique_ptr<Node>> nodes;  // in the order they were added: a node follows what it needs
  std::vector<std::pair<UserObject*, unsigned>> objects;
  std::shared_ptr<GraphMemory> memory = std::make_shared<GraphMemory>();
  ~Graph();
};

struct VF_EXPORT Executable {
  uint32_t magic = 0;
  std::vector<Work> works;           // in an order that respects the dependencies
  std::vector<const Node*> origins;  // the node each came from, for updates by node
  std::vector<std::pair<UserObject*, unsigned>> objects;
  std::shared_ptr<GraphMemory> memory;
  int64_t duration_ns = 0;
  size_t kernels = 0;
  int card = 0;
  int64_t device_bytes = 0;  // what its kernels' nodes hold on the card
  unsigned long long flags = 0;
  ~Executable();
};

VF_EXPORT Graph* create_graph();
VF_EXPORT Graph* find_graph(void* handle);  // null: not a live graph
VF_EXPORT Error destroy_graph(Graph* graph);
VF_EXPORT Graph* clone_graph(const Graph& graph);
VF_EXPORT Node* add_node(Graph& graph, Work work, std::vector<Node*> needs);
VF_EXPORT Node* find_node(void* handle);  // null: not a node of a live graph
// Checks what the public functions check: every handle, and that needs are nodes of the same graph. `made` is null on
// error.
VF_EXPORT Error add_node_by_handles(void* graph, void* const* needs, size_t count, const Work& work, Node** made);
// A child is a copy of its graph; a graph is no child of itself.
VF_EXPORT Error add_child_by_handles(void* graph, void* const* needs, size_t count, void* child, Node** made);
// Puts an edge in, or takes it out, between each pair.
VF_EXPORT Error change_edges(void* graph, void* const* from, void* const* to, size_t count, bool is_new);
VF_EXPORT std::vector<Node*> nodes_of(const Graph& graph, bool roots_only);
VF_EXPORT std::vector<Node*> dependents_of(const Node& node);
VF_EXPORT Error destroy_node(Node* node);
VF_EXPORT Error keep_object(Graph& graph, UserObject* object, unsigned count, bool move);
VF_EXPORT Error let_go_of_object(Graph& graph, UserObject* object, unsigned count);

// Makes it on the current card. Null: it has no room for the executable's nodes.
VF_EXPORT Executable* instantiate(const Graph& graph, unsigned long long flags);
VF_EXPORT Executable* find_executable(void* handle);
VF_EXPORT Error destroy_executable(Executable* executable);
// The executable's own copy of a node's work; null when the node is not part of it.
VF_EXPORT Work* work_in(void* executable, void* node);
// Takes over, for a child node, the parameters of a graph of the same shape as its child.
VF_EXPORT Error update_child(void* executable, void* node, void* child);
// Takes over the parameters of a graph of the same shape; another shape is refused.
VF_EXPORT Error update_executable(Executable& executable, const Graph& graph);
VF_EXPORT Error launch_graph(Executable& executable, void* stream);

}  // namespace vramfit::device

#endif
