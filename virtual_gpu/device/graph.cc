#include "virtual_gpu/device/graph.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "virtual_gpu/device/pool.h"
#include "virtual_gpu/device/ranges.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::device {
namespace {

constexpr int64_t kNodeNs = 1500;  // between two kernels of one graph there is hardly a gap

// What a kernel's node of an executable graph holds on the card: docs/decisions/0012-addresses-and-libraries.md.
constexpr int64_t kNodeBytes = 10 << 10, kNodeBytesBefore124 = 64 << 10;

struct Registry {
  std::mutex lock;
  std::unordered_set<void*> graphs;
  std::unordered_set<void*> nodes;
  std::unordered_set<void*> executables;
  std::unordered_set<void*> objects;
};

Registry& registry() {
  static auto* const kRegistry = new Registry;  // outlives other libraries' destructors
  return *kRegistry;
}

void release_objects(std::vector<std::pair<UserObject*, unsigned>>& objects) {
  for (auto& [object, count] : objects) release_object(object, count);
  objects.clear();
}

void append_works(const Graph& graph, Executable& executable) {
  for (const auto& node : graph.nodes) {
    if (node->child) {
      append_works(*node->child, executable);
      continue;
    }
    executable.works.push_back(node->work);
    executable.origins.push_back(node.get());
  }
}

void sum_up(Executable& executable) {
  executable.duration_ns = 0;
  executable.kernels = 0;
  for (const Work& work : executable.works) {
    executable.duration_ns += std::max(work.duration_ns, kNodeNs);
    executable.kernels += work.kind == WorkKind::kKernel ? 1 : 0;
  }
}

bool charge_nodes(Executable& executable) {
  executable.card = ledger::current_card();
  const bool is_old = ledger::driver_version() < 12040;
  const auto kernels = static_cast<int64_t>(executable.kernels);
  const int64_t bytes = kernels * (is_old ? kNodeBytesBefore124 : kNodeBytes);
  if (!ledger::charge_library(executable.card, bytes, "CUDA graphs")) return false;
  executable.device_bytes = bytes;
  if (bytes == 0) return true;
  ledger::note_assumed(is_old ? "CUDA graphs: 64 KiB of device memory a kernel, as drivers before 12.4 (PyTorch's "
                                "notes on CUDAGraph Trees)"
                              : "CUDA graphs: 10 KiB of device memory a kernel (NVIDIA/cccl #3768; up to four times "
                                "that was seen)");
  return true;
}

}  // namespace

UserObject* create_object(void* of, void (*destroy)(void*), unsigned references) {
  auto* made = new UserObject;
  made->object = of;
  made->destroy = destroy;
  made->references = references;
  const std::lock_guard guard(registry().lock);
  registry().objects.insert(made);
  return made;
}

UserObject* find_object(void* handle) {
  const std::lock_guard guard(registry().lock);
  return registry().objects.contains(handle) ? static_cast<UserObject*>(handle) : nullptr;
}

void retain_object(UserObject& object, unsigned count) { object.references += count; }

Error release_object(UserObject* object, unsigned count) {
  if (object == nullptr || count == 0 || object->references < count) return Error::kInvalidValue;
  if (object->references.fetch_sub(count) != count) return Error::kNone;
  {
    const std::lock_guard guard(registry().lock);
    registry().objects.erase(object);
  }
  if (object->destroy != nullptr) object->destroy(object->object);
  delete object;
  return Error::kNone;
}

GraphMemory::~GraphMemory() {
  for (const auto& [address, id] : blocks) {
    const auto found = find_allocation(address);
    if (found && found->id == id) release_to_pool(address);
  }
}

Graph::~Graph() {
  {
    const std::lock_guard guard(registry().lock);
    for (const auto& node : nodes) registry().nodes.erase(node.get());
  }
  release_objects(objects);
}
Executable::~Executable() {
  release_objects(objects);
  ledger::charge_library(card, -device_bytes, "CUDA graphs");
}

Graph* create_graph() {
  auto* graph = new Graph;
  const std::lock_guard guard(registry().lock);
  registry().graphs.insert(graph);
  return graph;
}

Graph* find_graph(void* handle) {
  const std::lock_guard guard(registry().lock);
  return registry().graphs.contains(handle) ? static_cast<Graph*>(handle) : nullptr;
}

Error destroy_graph(Graph* graph) {
  {
    const std::lock_guard guard(registry().lock);
    if (registry().graphs.erase(graph) == 0) return Error::kInvalidValue;
  }
  delete graph;
  return Error::kNone;
}

Graph* clone_graph(const Graph& graph) {
  Graph* copy = create_graph();
  std::unordered_map<const Node*, Node*> twin;
  for (const auto& node : graph.nodes) {
    std::vector<Node*> needs;
    for (Node* need : node->needs) needs.push_back(twin.at(need));
    Node* made = add_node(*copy, node->work, std::move(needs));
    made->child = node->child;
    made->event = node->event;
    twin[node.get()] = made;
  }
  copy->memory = graph.memory;
  for (const auto& [object, count] : graph.objects) keep_object(*copy, object, count, false);
  return copy;
}

Node* add_node(Graph& graph, Work work, std::vector<Node*> needs) {
  auto node = std::make_unique<Node>();
  node->work = work;
  node->graph = &graph;
  node->needs = std::move(needs);
  graph.nodes.push_back(std::move(node));
  const std::lock_guard guard(registry().lock);
  registry().nodes.insert(graph.nodes.back().get());
  return graph.nodes.back().get();
}

Node* find_node(void* handle) {
  const std::lock_guard guard(registry().lock);
  return registry().nodes.contains(handle) ? static_cast<Node*>(handle) : nullptr;
}

Error add_node_by_handles(void* graph, void* const* needs, size_t count, const Work& work, Node** made) {
  *made = nullptr;
  Graph* target = find_graph(graph);
  if (target == nullptr || (count != 0 && needs == nullptr)) return Error::kInvalidValue;
  std::vector<Node*> checked;
  for (size_t i = 0; i < count; ++i) {
    checked.push_back(find_node(needs[i]));
    if (checked.back() == nullptr || checked.back()->graph != target) return Error::kInvalidValue;
  }
  *made = add_node(*target, work, std::move(checked));
  return Error::kNone;
}

Error add_child_by_handles(void* graph, void* const* needs, size_t count, void* child, Node** made) {
  *made = nullptr;
  const Graph* source = find_graph(child);
  if (source == nullptr || child == graph) return Error::kInvalidValue;
  Work work;
  work.kind = WorkKind::kGraph;
  const Error error = add_node_by_handles(graph, needs, count, work, made);
  if (*made != nullptr) {
    (*made)->child = std::shared_ptr<Graph>(clone_graph(*source), [](Graph* clone) { destroy_graph(clone); });
  }
  return error;
}

Error change_edges(void* graph, void* const* from, void* const* to, size_t count, bool is_new) {
  const Graph* target = find_graph(graph);
  if (target == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return Error::kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    Node* first = find_node(from[i]);
    Node* second = find_node(to[i]);
    if (first == nullptr || second == nullptr || first == second) return Error::kInvalidValue;
    if (first->graph != target || second->graph != target) return Error::kInvalidValue;
    std::erase(second->needs, first);
    if (is_new) second->needs.push_back(first);
  }
  return Error::kNone;
}

std::vector<Node*> nodes_of(const Graph& graph, bool roots_only) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes) {
    if (!roots_only || node->needs.empty()) found.push_back(node.get());
  }
  return found;
}

std::vector<Node*> dependents_of(const Node& node) {
  std::vector<Node*> found;
  for (const auto& other : node.graph->nodes) {
    if (std::ranges::find(other->needs, &node) != other->needs.end()) found.push_back(other.get());
  }
  return found;
}

Error destroy_node(Node* node) {
  if (find_node(node) == nullptr) return Error::kInvalidValue;
  Graph& graph = *node->graph;
  {
    const std::lock_guard guard(registry().lock);
    registry().nodes.erase(node);
  }
  for (const auto& other : graph.nodes) std::erase(other->needs, node);
  std::erase_if(graph.nodes, [&](const auto& one) { return one.get() == node; });
  return Error::kNone;
}

Error keep_object(Graph& graph, UserObject* object, unsigned count, bool move) {
  if (object == nullptr || count == 0) return Error::kInvalidValue;
  if (!move) retain_object(*object, count);
  graph.objects.emplace_back(object, count);
  return Error::kNone;
}

Error let_go_of_object(Graph& graph, UserObject* object, unsigned count) {
  for (auto entry = graph.objects.begin(); entry != graph.objects.end(); ++entry) {
    if (entry->first != object || entry->second < count) continue;
    entry->second -= count;
    if (entry->second == 0) graph.objects.erase(entry);
    return release_object(object, count);
  }
  return Error::kInvalidValue;
}

Executable* instantiate(const Graph& graph, unsigned long long flags) {
  auto* executable = new Executable;
  append_works(graph, *executable);
  sum_up(*executable);
  if (!charge_nodes(*executable)) {
    delete executable;
    return nullptr;
  }
  executable->flags = flags;
  executable->memory = graph.memory;
  for (const auto& [object, count] : graph.objects) {
    retain_object(*object, count);
    executable->objects.emplace_back(object, count);
  }
  const std::lock_guard guard(registry().lock);
  registry().executables.insert(executable);
  return executable;
}

Executable* find_executable(void* handle) {
  const std::lock_guard guard(registry().lock);
  return registry().executables.contains(handle) ? static_cast<Executable*>(handle) : nullptr;
}

Error destroy_executable(Executable* executable) {
  {
    const std::lock_guard guard(registry().lock);
    if (registry().executables.erase(executable) == 0) return Error::kInvalidValue;
  }
  delete executable;
  return Error::kNone;
}

Work* work_in(void* executable, void* node) {
  Executable* target = find_executable(executable);
  const Node* wanted = find_node(node);
  if (target == nullptr || wanted == nullptr) return nullptr;
  const auto found = std::ranges::find(target->origins, wanted);
  return found == target->origins.end() ? nullptr
                                        : &target->works[static_cast<size_t>(found - target->origins.begin())];
}

Error update_executable(Executable& executable, const Graph& graph) {
  Executable fresh;
  append_works(graph, fresh);
  const auto same_kind = [](const Work& a, const Work& b) { return a.kind == b.kind; };
  if (!std::ranges::equal(fresh.works, executable.works, same_kind)) return Error::kGraphExecUpdateFailure;
  executable.works = std::move(fresh.works);
  executable.origins = std::move(fresh.origins);
  executable.memory = graph.memory;
  sum_up(executable);
  return Error::kNone;
}

Error update_child(void* executable, void* node, void* child) {
  Executable* target = find_executable(executable);
  const Node* known = find_node(node);
  const Graph* source = find_graph(child);
  if (target == nullptr || known == nullptr || source == nullptr || !known->child) return Error::kInvalidValue;
  Executable before, after;
  append_works(*known->child, before);
  append_works(*source, after);
  if (before.works.size() != after.works.size()) return Error::kGraphExecUpdateFailure;
  for (size_t i = 0; i < before.origins.size(); ++i) {
    const auto found = std::ranges::find(target->origins, before.origins[i]);
    if (found == target->origins.end()) return Error::kInvalidValue;
    Work& work = target->works[static_cast<size_t>(found - target->origins.begin())];
    if (work.kind != after.works[i].kind) return Error::kGraphExecUpdateFailure;
    work = after.works[i];
  }
  return Error::kNone;
}

Error launch_graph(Executable& executable, void* stream) {
  Work whole;
  whole.kind = WorkKind::kGraph;
  whole.duration_ns = executable.duration_ns;
  if (const Error error = submit(stream, whole); error != Error::kNone) return error;
  count_launches(executable.kernels);
  for (const Work& work : executable.works) perform(work);
  return Error::kNone;
}

}  // namespace vramfit::device
