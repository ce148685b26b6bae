// Graphs and their executables: made, copied, updated, launched.
#include "virtual_gpu/device/graph.h"

#include <cstdio>
#include <cstring>

#include "virtual_gpu/cudart/runtime.h"

using vramfit::cudart::answer;
namespace device = vramfit::device;

namespace {

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  VF_NEED(executable);
  *executable = nullptr;
  VF_NEED_CARD();
  const device::Graph* source = device::find_graph(graph);
  if (source == nullptr) return answer(cudaErrorInvalidValue);
  *executable = reinterpret_cast<cudaGraphExec_t>(device::instantiate(*source, flags));
  return *executable == nullptr ? answer(cudaErrorMemoryAllocation) : cudaSuccess;
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
